import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { connectNats, type EventLogger } from '../src/index.ts';
import { natsProcess } from './nats-process.ts';

test('a component that waits for NATS at its start says so, and connects when it comes', async () => {
  const server = await natsProcess();
  try {
    const told = Promise.withResolvers<string>();
    const logger: EventLogger = {
      info: () => undefined,
      warn: (_fields, text) => told.resolve(text),
      error: () => undefined,
    };
    const connecting = connectNats({ url: server.url, service: 'alpha', logger, tellEveryMs: 20 });
    expect(await told.promise).toBe('NATS is unreachable; waiting');
    await server.start();
    const connection = await connecting;
    expect(connection.isConnected()).toBe(true);
    await connection.close();
  } finally {
    await server.remove();
  }
});

test('a server of a cluster that is down does not block the others', async () => {
  const server = await natsProcess();
  const logger: EventLogger = { info: () => undefined, warn: () => undefined, error: () => undefined };
  try {
    await server.start();
    const connection = await connectNats({ url: `nats://127.0.0.1:1, ${server.url}`, service: 'alpha', logger });
    expect(connection.isConnected()).toBe(true);
    await connection.close();
  } finally {
    await server.remove();
  }
});

test.each([
  ['2.12.6', 1],
  ['2.12.7', 0],
])('a component that connects to a server of version %s logs %i warnings about its age', async (version, times) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(`INFO {"server_id":"x","version":"${version}","proto":1,"headers":true,"max_payload":1048576} \r\n`);
    socket.on('data', (bytes) => void (bytes.includes('PING') && socket.write('PONG\r\n')));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const warned: [object, string][] = [];
  const logger: EventLogger = {
    info: () => undefined,
    warn: (fields, text) => void warned.push([fields, text]),
    error: () => undefined,
  };
  const { port } = server.address() as AddressInfo;
  const connection = await connectNats({ url: `nats://127.0.0.1:${port}`, service: 'alpha', logger });
  expect(warned).toEqual(
    Array(times).fill([{ service: 'alpha', version }, 'NATS server can lose acknowledged events; use 2.12.7 or newer']),
  );
  await connection.close();
  server.close();
});
