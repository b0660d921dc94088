import { create, fromBinary } from '@bufbuild/protobuf';
import { type Database, openSession, scoped, withTx } from '@eligo/postgres';
import { AccountUpdatedSchema, EventSchema } from '@eligo/proto/events/v1/events';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  append,
  appendAll,
  encodedOutboxValues,
  encodeEvent,
  type NewEvent,
  outboxInsert,
  wakeRelayAfterCommit,
} from '../src/index.ts';
import { registerRelay, WAKE_CHANNEL, wakeRelay } from '../src/wake.ts';
import { type EventsDatabase, eventsDatabase, scope, until } from './support.ts';

let database: EventsDatabase;
let alpha: Database;

beforeAll(async () => {
  database = await eventsDatabase();
});
afterAll(() => database.drop());
beforeEach(() => {
  alpha = database.open('alpha');
});
afterEach(() => database.empty());

function eventOf(aggregateId: string, version: number): NewEvent {
  const value = create(AccountUpdatedSchema, { accountId: scope.accountId, version: BigInt(version) });
  return {
    type: 'account.updated',
    aggregateId,
    ...scope,
    object: { case: 'accountUpdated', value },
    at: new Date(version),
  };
}

async function stored() {
  const rows = await database.admin<{ event_id: string; aggregate_id: string; seq: number; payload: Buffer }>(
    'select event_id, aggregate_id, aggregate_seq::int as seq, payload from alpha.outbox order by event_id',
  );
  return rows.map((row) => {
    const event = fromBinary(EventSchema, row.payload);
    expect(event).toMatchObject({ eventId: row.event_id, aggregateId: row.aggregate_id, type: 'account.updated' });
    return [row.aggregate_id, row.seq, Number(event.occurredAtMs)];
  });
}

test('the events of a change are numbered within their aggregates in the order of the list', async () => {
  await withTx(alpha, scope, (tx) => append(tx, eventOf('a', 1)));
  await withTx(alpha, scope, (tx) =>
    appendAll(tx, [eventOf('b', 2), eventOf('a', 3), eventOf('c', 4), eventOf('a', 5), eventOf('b', 6)]),
  );
  expect(await stored()).toEqual([
    ['a', 1, 1],
    ['b', 1, 2],
    ['a', 2, 3],
    ['c', 1, 4],
    ['a', 3, 5],
    ['b', 2, 6],
  ]);
});

test('none and one of a list are appended as well', async () => {
  await withTx(alpha, scope, (tx) => appendAll(tx, []));
  expect(await stored()).toEqual([]);
  await withTx(alpha, scope, (tx) => appendAll(tx, [eventOf('a', 1)]));
  expect(await stored()).toEqual([['a', 1, 1]]);
});

test('the relay is woken by the commit and not before', async () => {
  let woken = 0;
  const unregister = registerRelay(alpha, () => {
    woken += 1;
  });
  await withTx(alpha, scope, async (tx) => {
    await appendAll(tx, [eventOf('a', 1), eventOf('a', 2)]);
    expect(woken).toBe(0);
  });
  expect(woken).toBe(1);
  const rolledBack = withTx(alpha, scope, async (tx) => {
    await appendAll(tx, [eventOf('a', 3), eventOf('a', 4)]);
    throw new Error('no');
  });
  await expect(rolledBack).rejects.toThrow('no');
  expect(woken).toBe(1);
  expect(await stored()).toHaveLength(2);
  unregister();
});

test('two transactions that number one aggregate at once: the second is refused', async () => {
  const held = Promise.withResolvers<void>();
  const appended = Promise.withResolvers<void>();
  const first = withTx(alpha, scope, async (tx) => {
    await appendAll(tx, [eventOf('a', 1), eventOf('b', 2)]);
    appended.resolve();
    await held.promise;
  });
  await appended.promise;
  const second = withTx(alpha, scope, (tx) => appendAll(tx, [eventOf('c', 3), eventOf('a', 4)]));
  const refused = expect(second).rejects.toMatchObject({ code: '23505', constraint: 'outbox_aggregate' });
  const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await until(async () => (await database.admin(waits)).length > 0);
  held.resolve();
  await Promise.all([first, refused]);
  expect(await stored()).toHaveLength(2);
});

test('the events of a change are written by the statement of the change, if it happens', async () => {
  const changeWithEvents = scoped(
    't.change_with_events',
    `with changed as (select 1 where $1::text = 'facct_a' and $2::boolean and $3::boolean), told as (${outboxInsert(4, 'changed')})
     select count(*) from changed`,
  );
  const change = (happens: boolean, events: NewEvent[]) =>
    withTx(alpha, scope, async (tx) => {
      const values = encodedOutboxValues(events.map(encodeEvent));
      expect(values).toHaveLength(7);
      await tx.rows(changeWithEvents, scope, [happens, ...values]);
      wakeRelayAfterCommit(tx);
    });
  await withTx(alpha, scope, (tx) => append(tx, eventOf('a', 1)));
  await change(false, [eventOf('a', 2)]);
  let wakes = 0;
  const unregister = registerRelay(alpha, () => {
    wakes += 1;
  });
  await change(true, [eventOf('b', 3), eventOf('a', 4), eventOf('b', 5)]);
  unregister();
  expect(await stored()).toEqual([
    ['a', 1, 1],
    ['b', 1, 3],
    ['a', 2, 4],
    ['b', 2, 5],
  ]);
  expect(wakes).toBe(1);
});

test('a process that ends tells the relay of another one of its last commit', async () => {
  const woken = Promise.withResolvers<string>();
  const listening = await openSession(alpha, 'listens', (channel, payload) => woken.resolve(`${channel} ${payload}`));
  await listening.query(`listen ${WAKE_CHANNEL}`);
  const troubles: string[] = [];
  const ending = database.open('alpha', { onError: (_error, where) => troubles.push(where) });
  await withTx(ending, scope, (tx) => append(tx, eventOf('facct_last', 1)));
  // At once, before the time after which commits are told together.
  await ending.close();
  expect(await woken.promise).toBe(`${WAKE_CHANNEL} alpha`);
  wakeRelay(ending);
  await listening.close();
  expect(troubles).toEqual([]);
});
