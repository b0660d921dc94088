import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** A name server on this machine. */
export interface NameServer {
  /** `address:port`. */
  readonly address: string;
  /** Names that it was asked for, once for each address family. */
  readonly asked: string[];
  /** Addresses of names; a name without any does not exist, and `silent` ones are never answered. */
  readonly names: Map<string, readonly string[] | 'silent'>;
  readonly ttlSeconds: { value: number };
  close(): void;
}

/** Starts a name server that speaks as much DNS as its clients here need. */
export async function nameServer(): Promise<NameServer> {
  const names: NameServer['names'] = new Map();
  const asked: string[] = [];
  const ttlSeconds = { value: 60 };
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const { name, type, end } = questionOf(query);
    asked.push(name);
    const known = names.get(name);
    if (known === 'silent') return;
    const addresses = type === 1 ? (known ?? []) : [];
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(known === undefined ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(addresses.length, 6);
    head.writeUInt32BE(0, 8);
    const records = addresses.map((address) => {
      const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]);
      record.writeUInt32BE(ttlSeconds.value, 6);
      return record;
    });
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    ...{ asked, names, ttlSeconds },
    address: `127.0.0.1:${socket.address().port}`,
    close: () => socket.close(),
  };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString());
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}
