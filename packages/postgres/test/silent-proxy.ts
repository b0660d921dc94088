import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A way to the server that can fall silent: connections stay open, and nothing passes. */
export interface SilentProxy {
  /** The server's URL, by way of the proxy. */
  readonly url: string;
  /** Drops what comes from the server (the client's own words still arrive), or everything. */
  silence(what: 'answers' | 'everything'): void;
  speak(): void;
  /** Drops everything, for good, on the connection that has this port at the server (`client_port` of pg_stat_activity). */
  silenceOne(port: number): void;
  close(): Promise<void>;
}

export async function silentProxy(target: string): Promise<SilentProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const silenced = new Set<number>();
  let silent: 'nothing' | 'answers' | 'everything' = 'nothing';
  // The end of a connection is a message as well: it is passed on, or dropped.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    const isDropped = (from: Socket) =>
      silenced.has(upstream.localPort ?? 0) || silent === 'everything' || (silent === 'answers' && from === upstream);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (data) => {
        if (!isDropped(from) && to.writable) to.write(data);
      });
      from.on('end', () => {
        if (!isDropped(from)) to.end();
      });
      for (const event of ['close', 'error'])
        from.on(event, () => {
          sockets.delete(from);
          if (!isDropped(from)) to.destroy();
        });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(address.port);
  return {
    url: url.href,
    silence: (what) => {
      silent = what;
    },
    speak: () => {
      silent = 'nothing';
    },
    silenceOne: (port) => void silenced.add(port),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
