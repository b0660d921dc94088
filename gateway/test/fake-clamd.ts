import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect } from 'vitest';

/** A virus scanner that speaks INSTREAM as clamd(8) describes it. */
export async function fakeClamd() {
  const state = { answer: 'verdict' as 'verdict' | 'hang up' | 'nonsense' | 'size limit', seen: [] as Buffer[] };
  const server = createServer((socket: Socket) => {
    let held = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      held = Buffer.concat([held, chunk]);
      if (state.answer === 'hang up') socket.destroy();
      else if (state.answer === 'size limit') socket.end('INSTREAM size limit exceeded. ERROR\0');
      else judge(socket, held);
    });
  });
  const judge = (socket: Socket, held: Buffer) => {
    const command = 'zINSTREAM\0';
    if (held.length < command.length + 4) return;
    expect(held.toString('latin1', 0, command.length)).toBe(command);
    const chunks: Buffer[] = [];
    for (let at = command.length; at + 4 <= held.length; ) {
      const length = held.readUInt32BE(at);
      if (length === 0) {
        const content = Buffer.concat(chunks);
        state.seen.push(content);
        const found = content.includes('EICAR') ? 'stream: Eicar-Signature FOUND\0' : 'stream: OK\0';
        socket.end(state.answer === 'nonsense' ? 'what?\0' : found);
        return;
      }
      chunks.push(held.subarray(at + 4, at + 4 + length));
      at += 4 + length;
    }
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, {
    port,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  });
}
