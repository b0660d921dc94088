import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type RegressionDetector, regressionDetector } from '../src/index.ts';
import { recordPublished } from '../src/positions.ts';
import { useFixture } from './fixture.ts';
import { appendSome, until } from './support.ts';

const on = useFixture();

/** Looks at nothing: what a relay without a detector does. */
const blind = (): RegressionDetector => ({
  inspect: async () => false,
  async record(stored, dequeue) {
    await recordPublished(on.alpha, { stored, dequeue, lastSeq: 0 });
    return false;
  },
});

/**
 * 500 events, a copy of the directory, 500 more, and all of them consumed. Then the older messages are put back under the newer consumers,
 * which is what a power cut leaves when the stream's last writes had not reached the disk.
 */
async function putBackOlder(what: 'messages' | 'everything'): Promise<void> {
  const relay = await on.relay();
  const consumer = await on.consumer();
  // What the server has no acknowledgement of when it stops, it delivers again later.
  const acknowledged = () => until(async () => (await consumer.lag())[0]?.unacknowledged === 0);
  await appendSome(on.alpha, 500);
  await until(async () => (await on.effects()).events === 500);
  await acknowledged();
  await on.nats.stop();
  const copy = `${on.nats.directory}-copy`;
  await cp(on.nats.directory, copy, { recursive: true });
  await on.nats.start();
  await appendSome(on.alpha, 500);
  await until(async () => (await on.effects()).events === 1_000);
  await until(async () => (await unpublished()) === 0);
  await acknowledged();
  await relay.stop();
  await consumer.stop();
  await on.nats.stop();
  const inside = what === 'messages' ? join('jetstream', '$G', 'streams', 'ELIGO_ALPHA', 'msgs') : '';
  await rm(join(on.nats.directory, inside), { recursive: true });
  await cp(join(copy, inside), join(on.nats.directory, inside), { recursive: true });
  await rm(copy, { recursive: true });
  await on.nats.start();
}

async function unpublished(): Promise<number> {
  const [row] = await on.database.admin<{ n: number }>('select count(*)::int as n from alpha.outbox_queue');
  return row?.n ?? 0;
}

test('without the detector an older directory, put back, delivers none of the next 100 events', async () => {
  await putBackOlder('messages');
  // The trigger would refuse what a relay without a detector writes down.
  await on.database.admin('alter table alpha.outbox_positions disable trigger places_ascend');
  await on.relay({ detector: blind() });
  const consumer = await on.consumer();
  await appendSome(on.alpha, 100);
  await until(async () => (await unpublished()) === 0);
  // All are stored and acknowledged; three seconds are long for a delivery that takes milliseconds.
  await pause(3_000);
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
    expect(on.logger.lines.filter(({ message }) => message.includes('Stream lost events'))).toHaveLength(1);
  },
);

test('events that were published before anyone looked prove the loss by the places they got', async () => {
  await putBackOlder('messages');
  const connection = await on.connect('alpha');
  const detector = regressionDetector(on.alpha, connection, 'alpha', on.logger);
  let inspections = 0;
  // The first look finds nothing, as if it came before the loss.
  const late: RegressionDetector = {
    inspect: async () => inspections++ > 0 && detector.inspect(),
    record: (stored, dequeue) => detector.record(stored, dequeue),
  };
  await on.relay({ connection, detector: late });
  await on.consumer();
  await appendSome(on.alpha, 600);
  await until(async () => (await on.effects()).events === 1_600);
  expect(await on.effects()).toEqual({ events: 1_600, effects: 1_600 });
  expect(on.logger.lines.filter(({ fields }) => 'how' in fields && fields.how === 'gone back unseen')).not.toHaveLength(
    0,
  );
});

test('a directory that is lost altogether is filled again from the outbox', async () => {
  await on.relay();
  await on.consumer();
  await appendSome(on.alpha, 200);
  await until(async () => (await on.effects()).events === 200);
  await on.nats.kill();
  await rm(on.nats.directory, { recursive: true });
  await on.nats.start();
  await appendSome(on.alpha, 50);
  await until(async () => (await on.effects()).events === 250);
  expect(await on.effects()).toEqual({ events: 250, effects: 250 });
  const connection = await on.connect('alpha');
  // The new events are published first, those of before by a repair.
  await until(async () => (await connection.manager.streams.info('ELIGO_ALPHA')).state.messages >= 250);
});

test('a stream that somebody deleted is filled again from the outbox', async () => {
  await on.relay();
  await on.consumer();
  await appendSome(on.alpha, 50);
  await until(async () => (await on.effects()).events === 50);
  const connection = await on.connect('alpha');
  await connection.manager.streams.delete('ELIGO_ALPHA');
  await appendSome(on.alpha, 50);
  await until(async () => (await on.effects()).events === 100);
  expect(await on.effects()).toEqual({ events: 100, effects: 100 });
});
