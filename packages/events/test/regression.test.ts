import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type NatsProcess, natsProcess } from './nats-process.ts';
import { type Stage, stage } from './stage.ts';
import { appendSome, until } from './support.ts';

let nats: NatsProcess;
let on: Stage;

beforeEach(async () => {
  nats = await natsProcess();
  await nats.start();
  on = await stage(nats.url);
});

afterEach(async () => {
  await on.end();
  await nats.remove();
});

const blind = { inspect: async () => undefined, record: async () => undefined };

/**
 * 500 events, a copy of the directory, 500 more, and all of them consumed. Then the older messages are put back under the newer consumers,
 * which is what a power cut leaves when the stream's last writes had not reached the disk.
 */
async function putBackOlder(what: 'messages' | 'everything'): Promise<void> {
  const relay = await on.relay();
  const consumer = await on.consumer();
  await appendSome(on.alpha, 500);
  await until(async () => (await on.effects()).events === 500);
  await nats.stop();
  const copy = `${nats.directory}-copy`;
  await cp(nats.directory, copy, { recursive: true });
  await nats.start();
  await appendSome(on.alpha, 500);
  await until(async () => (await on.effects()).events === 1_000);
  await until(async () => (await unpublished()) === 0);
  await relay.stop();
  await consumer.stop();
  await nats.stop();
  const inside = what === 'messages' ? join('jetstream', '$G', 'streams', 'ELIGO_ALPHA', 'msgs') : '';
  await rm(join(nats.directory, inside), { recursive: true });
  await cp(join(copy, inside), join(nats.directory, inside), { recursive: true });
  await rm(copy, { recursive: true });
  await nats.start();
}

async function unpublished(): Promise<number> {
  const [row] = await on.database.admin<{ n: number }>(
    'select count(*)::int as n from alpha.outbox where published_at is null',
  );
  return row?.n ?? 0;
}

test('without the detector an older directory, put back, delivers none of the next 100 events', async () => {
  await putBackOlder('messages');
  const { regressionDetector } = await import('../src/regression.ts');
  const connection = await on.connect('alpha');
  const seeing = regressionDetector(on.alpha, connection, 'alpha', on.logger);
  void seeing;
  await on.relay({ connection, detector: { ...blind, record: markWithoutLooking } });
  const consumer = await on.consumer();
  await appendSome(on.alpha, 100);
  await until(async () => (await unpublished()) === 0);
  // All are stored and acknowledged; three seconds are long for a delivery that takes milliseconds.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(consumer.stats()).toMatchObject({ handled: 0, repeated: 0, failed: 0 });
  expect(await on.effects()).toEqual({ events: 1_000, effects: 1_000 });
});

test.each(['messages', 'everything'] as const)(
  'with the detector nothing is missing and nothing applied twice: %s put back',
  async (what) => {
    await putBackOlder(what);
    await on.relay();
    await on.consumer();
    await appendSome(on.alpha, 100);
    await until(async () => (await on.effects()).events === 1_100);
    await until(async () => (await unpublished()) === 0);
    expect(await on.effects()).toEqual({ events: 1_100, effects: 1_100 });
    expect(on.logger.lines.filter(({ message }) => message.includes('has lost events'))).toHaveLength(1);
  },
);

async function markWithoutLooking(stored: readonly { eventId: string }[]): Promise<void> {
  await on.database.admin(
    `update alpha.outbox set published_at = now(), stream_seq = 1000000 + nextval('alpha.blind') where event_id = any($1)`,
    [stored.map(({ eventId }) => eventId)],
  );
}
