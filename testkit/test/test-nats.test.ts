import { connect } from 'nats';
import { expect, it } from 'vitest';
import { testNats, testNatsUrl, waitUntil } from '../src/index.ts';

it('has a nats-server with JetStream for the whole run', async () => {
  const connection = await connect({ servers: testNatsUrl() });
  const account = await (await connection.jetstreamManager()).getAccountInfo();
  expect(account.streams).toBeGreaterThanOrEqual(0);
  await connection.close();
});

it('starts a server of its own again on the same port, with its data, when it is killed', async () => {
  const nats = await testNats();
  try {
    const before = await connect({ servers: nats.url, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
    const manager = await before.jetstreamManager();
    await manager.streams.add({ name: 'KEPT', subjects: ['kept'] });
    await before.jetstream().publish('kept', 'once');
    nats.process.kill('SIGKILL');
    await waitUntil(() => nats.process.restarts() === 1, { what: 'the restart' });
    const kept = await waitUntil(async () => (await manager.streams.info('KEPT')).state.messages, {
      what: 'the stream',
    });
    expect(kept).toBe(1);
    await before.close();
  } finally {
    await nats.stop();
  }
});
