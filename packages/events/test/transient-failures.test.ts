import { unscoped } from '@eligo/postgres';
import { newId } from '@eligo/values';
import pg from 'pg';
import { beforeEach, expect, test } from 'vitest';
import { FailureCounter, mostCounted } from '../src/failure-counter.ts';
import { countDeadLetters, listDeadLetters, requestRedrive } from '../src/index.ts';
import { noteEffect, useFixture } from './fixture.ts';
import { appendSome, until } from './support.ts';

const on = useFixture();

beforeEach(async () => {
  await on.relay();
});

const soon = { retryDelayMs: () => 5, maxDeliveries: 3, redrivePollMs: 20 };
const sleep = unscoped('test.sleep', 'select pg_sleep(5)');
const failWith = (code: string) =>
  unscoped(`test.fail_${code}`, `do $$ begin raise exception 'no' using errcode = '${code}'; end $$`);

test('an event that waits for a lock never becomes a dead letter, however often it fails', async () => {
  const beta = on.database.open('beta', { lockTimeoutMs: 20 });
  const consumer = await on.consumer({ ...soon, database: beta });
  const holder = new pg.Client(on.database.adminUrl);
  await holder.connect();
  await holder.query('begin; lock table beta.effects in access exclusive mode');
  await appendSome(on.alpha, 4);
  try {
    await until(() => consumer.stats().failed > 40);
    expect(await countDeadLetters(on.beta)).toBe(0);
  } finally {
    // Its end releases the lock.
    await holder.end();
  }
  await until(() => consumer.stats().handled === 4);
  expect(await on.effects()).toEqual({ events: 4, effects: 4 });
  expect(consumer.stats()).toMatchObject({ handled: 4, deadLettered: 0 });
});

test('an event whose statement times out does not become a dead letter', async () => {
  // A COMMIT that is answered late has been carried out.
  const beta = on.database.open('beta', { statementTimeoutMs: 20, answerMarginMs: 30_000 });
  let isSlow = true;
  const consumer = await on.consumer({
    ...soon,
    database: beta,
    handle: async (tx, event) => {
      if (isSlow) await tx.execute(sleep, null);
      await tx.execute(noteEffect, null, [event.eventId]);
    },
  });
  await appendSome(on.alpha, 1);
  await until(() => consumer.stats().failed > 6);
  isSlow = false;
  await until(() => consumer.stats().handled === 1);
  expect(await on.effects()).toEqual({ events: 1, effects: 1 });
  expect(consumer.stats().deadLettered).toBe(0);
});

test.each(['40P01', '40001', '53100', '53300', '57P01', '57P03', '08006'])(
  'a failure with SQLSTATE %s does not count toward the limit, and other failures still do',
  async (code) => {
    let transientFailures = 6;
    let ownFailures = 0;
    const consumer = await on.consumer({
      ...soon,
      handle: async (tx) => {
        if (transientFailures-- > 0) await tx.execute(failWith(code), null);
        ownFailures += 1;
        throw new TypeError('no');
      },
    });
    await appendSome(on.alpha, 1);
    await until(() => consumer.stats().deadLettered === 1);
    expect(ownFailures).toBe(3);
    expect(consumer.stats()).toMatchObject({ failed: 9, deadLettered: 1 });
    expect(await listDeadLetters(on.beta)).toMatchObject([{ error: 'TypeError', deliveries: 9 }]);
  },
);

test('a redrive that cannot acquire a lock stays requested and does not hold back the others', async () => {
  let failure: 'own' | 'lock' | 'none' = 'own';
  let locked: string | undefined;
  await on.consumer({
    ...soon,
    handle: async (tx, event) => {
      if (failure === 'own') throw new TypeError('no');
      if (failure === 'lock' && event.eventId === locked) await tx.execute(failWith('55P03'), null);
      await tx.execute(noteEffect, null, [event.eventId]);
    },
  });
  [locked] = await appendSome(on.alpha, 3);
  await until(async () => (await countDeadLetters(on.beta)) === 3);
  failure = 'lock';
  await requestRedrive(on.beta);
  await until(async () => (await countDeadLetters(on.beta)) === 1);
  expect(await listDeadLetters(on.beta)).toMatchObject([{ eventId: locked, redrives: 0, redriveAt: expect.any(Date) }]);
  failure = 'none';
  await until(async () => (await countDeadLetters(on.beta)) === 0);
  expect(await on.effects()).toEqual({ events: 3, effects: 3 });
});

test('the memory of failures is bounded and forgets the event that failed longest ago first', () => {
  const failures = new FailureCounter();
  const ids = Array.from({ length: mostCounted }, () => newId('event'));
  for (const id of ids) failures.add(id);
  expect(failures.add(ids[0] ?? '')).toBe(2);
  failures.add(newId('event'));
  expect(failures.size).toBe(mostCounted);
  expect(failures.add(ids[0] ?? '')).toBe(3);
  expect(failures.add(ids[1] ?? '')).toBe(1);
});
