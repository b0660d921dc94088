import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** A name server that never answers. */
export interface SilentNames {
  /** What a constellation is started with that asks no other. */
  readonly environment: Readonly<Record<string, string>>;
  close(): void;
}

export async function startSilentNames(): Promise<SilentNames> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const preloaded = new URL('silent-names.mjs', import.meta.url);
  preloaded.search = encodeURIComponent(`127.0.0.1:${socket.address().port}`);
  return {
    environment: { NODE_OPTIONS: `--import=${preloaded.href}` },
    close: () => socket.close(),
  };
}
