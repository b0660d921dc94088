import { beforeEach, expect, test } from 'vitest';
import { outboxLag, publishAgain, regressionDetector, watchProgress } from '../src/index.ts';
import { useFixture } from './fixture.ts';
import { appendSome, until } from './support.ts';

const on = useFixture();
let clock: number;

beforeEach(() => {
  clock = 1_000_000;
});

const looker = async () => {
  const connection = await on.connect('alpha');
  const look = watchProgress(on.alpha, connection, 'alpha', () => clock);
  return async (afterMs: number) => {
    clock += afterMs;
    return look();
  };
};

const published = () => until(async () => (await outboxLag(on.alpha)).waiting === 0);

test('nothing is behind when every event has been given to its consumer', async () => {
  await on.relay();
  await on.consumer();
  await appendSome(on.alpha, 20);
  await until(async () => (await on.effects()).events === 20);
  await published();
  const look = await looker();
  expect(await look(100)).toEqual({ behindMs: 0, isGrowing: false });
});

test('what is not published is behind by its age, for as long as the outbox moves', async () => {
  const relay = await on.relay();
  await appendSome(on.alpha, 1);
  await published();
  await relay.stop();
  await appendSome(on.alpha, 5);
  await on.database.admin(`update alpha.outbox set created_at = created_at - interval '3 seconds'`);
  const look = await looker();
  const first = await look(100);
  expect(first.behindMs).toBeGreaterThan(2_900);
  expect(first.isGrowing).toBe(true);
  // Nobody publishes: a second later it counts as standing still.
  expect(await look(1_100)).toEqual({ behindMs: 0, isGrowing: false });
});

test('an event that is republished is behind by its time in the queue, and not by its age', async () => {
  const ids = await appendSome(on.alpha, 5);
  await on.database.admin('delete from alpha.outbox_queue');
  await on.database.admin(`update alpha.outbox set created_at = created_at - interval '3 days'`);
  await regressionDetector(on.alpha, await on.connect('alpha'), 'alpha', on.logger).inspect();
  const look = await looker();
  await publishAgain(on.alpha, ids);
  expect((await look(100)).behindMs).toBeLessThan(60_000);
  const { waiting, oldestMs } = await outboxLag(on.alpha);
  expect(waiting).toBe(5);
  expect(oldestMs).toBeLessThan(60_000);
});

test('what waits for a consumer is behind by the time that has been seen, while the consumer moves', async () => {
  await on.relay();
  let isHeld = true;
  const begun = Promise.withResolvers<void>();
  const consumer = await on.consumer({
    handle: async () => {
      begun.resolve();
      while (isHeld) await new Promise((resolve) => setTimeout(resolve, 20));
    },
    concurrency: 1,
  });
  await appendSome(on.alpha, 600);
  const connection = await on.connect('alpha');
  // Until then the server may not know the consumer.
  await begun.promise;
  const pending = async () => (await connection.manager.consumers.info('ELIGO_ALPHA', 'beta-effects')).num_pending;
  await until(async () => {
    const info = await connection.manager.streams.info('ELIGO_ALPHA');
    return info.state.messages === 600 && (await pending()) > 0;
  });
  await published();
  const look = await looker();
  expect(await look(100), 'how long it has waited is not known yet').toMatchObject({ behindMs: 0 });
  const waited = await look(500);
  expect(waited).toEqual({ behindMs: 500, isGrowing: false });
  expect(await look(1_000), 'it stands still').toEqual({ behindMs: 0, isGrowing: false });
  isHeld = false;
  await until(() => consumer.stats().handled === 600);
  await until(async () => (await pending()) === 0);
  expect(await look(100)).toEqual({ behindMs: 0, isGrowing: false });
});

test('a NATS that is away puts nothing behind but the outbox, which stands still then', async () => {
  await on.relay();
  await appendSome(on.alpha, 1);
  await published();
  const look = await looker();
  const connection = await on.connect('alpha');
  await on.nats.kill();
  await until(() => !connection.isConnected());
  await appendSome(on.alpha, 3);
  await on.database.admin(`update alpha.outbox set created_at = created_at - interval '3 seconds'`);
  await look(100);
  expect(await look(1_100)).toEqual({ behindMs: 0, isGrowing: false });
  await on.nats.start();
});
