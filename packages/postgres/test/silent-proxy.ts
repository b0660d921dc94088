import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A way to the server that can fall silent: connections stay open, and nothing passes. */
export interface SilentProxy {
  /** The server's URL, by way of the proxy. */
  readonly url: string;
  /** Drops what comes from the server (the client's own words still arrive), or everything. */
  silence(what: 'answers' | 'everything'): void;
  speak(): void;
  close(): Promise<void>;
}

export async function silentProxy(target: string): Promise<SilentProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let silent: 'nothing' | 'answers' | 'everything' = 'nothing';
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (data) => {
        const dropped = silent === 'everything' || (silent === 'answers' && from === upstream);
        if (!dropped && to.writable) to.write(data);
      });
      from.on('close', () => to.destroy());
      from.on('error', () => to.destroy());
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
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
