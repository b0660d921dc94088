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
