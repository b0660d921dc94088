import type { Database } from '@eligo/postgres';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { pruneEvents } from '../src/index.ts';
import { appendSome, type EventsDatabase, eventsDatabase } from './support.ts';

let database: EventsDatabase;

beforeAll(async () => {
  database = await eventsDatabase();
});
afterAll(() => database.drop());
afterEach(() => database.empty());

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

/** Appends an event and makes it, and its publishing, that old. */
async function appendOld(alpha: Database, days: number, publishedDays: number | null, aggregate: string) {
  const [id] = await appendSome(alpha, 1, aggregate);
  await database.admin('update alpha.outbox set created_at = $2 where event_id = $1', [id, daysAgo(days)]);
  if (publishedDays === null) return id;
  await database.admin('delete from alpha.outbox_queue where event_id = $1', [id]);
  await database.admin(
    `insert into alpha.outbox_positions (minute, last_seq, oldest_event_id, oldest_new_event_id, ended_at)
     values (date_trunc('minute', $2::timestamptz), 1 + coalesce((select max(last_seq) from alpha.outbox_positions), 0), $1, $1, $2)
     on conflict do nothing`,
    [id, daysAgo(publishedDays)],
  );
  return id;
}

const left = async () =>
  (await database.admin<{ event_id: string }>('select event_id from alpha.outbox order by event_id')).map(
    ({ event_id }) => event_id,
  );

test('what was published long ago goes without a trace, and the numbers of its aggregate go on ascending', async () => {
  const alpha = database.open('alpha');
  for (let i = 0; i < 3; i++) await appendOld(alpha, 15, 15, 'old');
  const young = await appendOld(alpha, 13, 13, 'young');
  expect(await pruneEvents(alpha)).toBe(3);
  expect(await left()).toEqual([young]);
  await appendSome(alpha, 2, 'old');
  await appendSome(alpha, 1, 'young');
  const numbers = await database.admin(
    'select aggregate_id as a, aggregate_seq::int as seq from alpha.outbox order by event_id',
  );
  expect(numbers).toEqual([
    { a: 'young', seq: 1 },
    { a: 'old', seq: 4 },
    { a: 'old', seq: 5 },
    { a: 'young', seq: 2 },
  ]);
  expect(await pruneEvents(alpha)).toBe(0);
});

test('the numbers of an aggregate ascend however often retention takes all its events', async () => {
  const alpha = database.open('alpha');
  const numbers: number[] = [];
  for (let round = 0; round < 4; round++) {
    const [id] = await appendSome(alpha, 1, 'again');
    const [row] = await database.admin<{ seq: number }>(
      'select aggregate_seq::int as seq from alpha.outbox where event_id = $1',
      [id],
    );
    numbers.push(row?.seq ?? 0);
    await database.admin("update alpha.outbox set created_at = now() - interval '20 days'");
    await database.admin('delete from alpha.outbox_queue');
    await pruneEvents(alpha);
    expect(await left()).toEqual([]);
  }
  expect(numbers).toEqual([1, 2, 3, 4]);
});

test('what waits stays, and so does what was published late, and what a repair still has to publish', async () => {
  const alpha = database.open('alpha');
  const gone = await appendOld(alpha, 40, 40, 'a');
  const repaired = await appendOld(alpha, 30, 30, 'b');
  const late = await appendOld(alpha, 30, 3, 'c');
  const waiting = await appendOld(alpha, 30, null, 'd');
  await database.admin(
    `insert into alpha.outbox_repairs (stream, how, kept_seq, consumers, events, after_event_id, last_event_id)
     values ('ELIGO_ALPHA', 'missing', -1, 0, 0, $1, $2)`,
    [gone, waiting],
  );
  expect(await pruneEvents(alpha)).toBe(0);
  expect(await left()).toEqual([gone, repaired, late, waiting]);
  await database.admin('update alpha.outbox_repairs set after_event_id = $1', [repaired]);
  expect(await pruneEvents(alpha)).toBe(1);
  await database.admin('update alpha.outbox_repairs set finished_at = now()');
  expect(await pruneEvents(alpha)).toBe(1);
  expect(await left()).toEqual([late, waiting]);
  await database.admin('delete from alpha.outbox_queue');
  expect(await pruneEvents(alpha)).toBe(0);
  await database.admin("update alpha.outbox_positions set minute = minute - interval '12 days'");
  expect(await pruneEvents(alpha)).toBe(2);
});

test('inbox ids outlive everything that can still be delivered', async () => {
  const beta = database.open('beta');
  await database.admin(
    `insert into beta.inbox values ('c', 'old', now() - interval '47 days'), ('c', 'young', now() - interval '45 days')`,
  );
  expect(await pruneEvents(beta)).toBe(1);
  expect(await database.admin('select event_id from beta.inbox')).toEqual([{ event_id: 'young' }]);
});

test('each consumer’s inbox is pruned from its lowest ids, a batch at a time, and an old event that was handled lately stays', async () => {
  const beta = database.open('beta');
  await database.admin(
    `insert into beta.inbox select c, 'evt_' || lpad(n::text, 4, '0'), now() - make_interval(days => 60 - n / 100)
     from unnest(array['a', 'b', 'c']) as c, generate_series(0, 2999) as n`,
  );
  await database.admin("insert into beta.inbox values ('b', 'evt_', now())");
  // Days 60 to 46 of each consumer; the row that was handled lately stays in front.
  const pruned: number[] = [];
  do pruned.push(await pruneEvents(beta, {}, 1_000));
  while (pruned.at(-1) !== 0);
  expect(pruned).toEqual([1_000, 1_000, 1_000, 1_000, 500, 0]);
  expect(
    await database.admin(
      'select consumer as c, count(*)::int as n, min(event_id) as first from beta.inbox group by 1 order by 1',
    ),
  ).toEqual([
    { c: 'a', n: 1_500, first: 'evt_1500' },
    { c: 'b', n: 1_501, first: 'evt_' },
    { c: 'c', n: 1_500, first: 'evt_1500' },
  ]);
});

test.each([
  [{ outboxDays: 6 }, '7 days'],
  [{ inboxDays: 30 }, 'longer than the stream'],
  [{ outboxDays: 40, inboxDays: 35 }, 'longer than the stream'],
])('less than what the detector and the inboxes rely on is refused: %j', async (retention, why) => {
  await expect(pruneEvents(database.open('alpha'), retention)).rejects.toThrow(why);
});

test('an event cannot be changed, removed or un-published by its service', async () => {
  const alpha = database.open('alpha');
  const { unscoped } = await import('@eligo/postgres');
  for (const text of [
    "update outbox set payload = ''",
    'delete from outbox',
    "update outbox set type = 'x'",
    'delete from inbox',
    'update outbox_pruned set aggregate_seq = 0',
    'delete from outbox_pruned',
    "update outbox_repairs set how = 'x'",
  ]) {
    await expect(alpha.execute(unscoped('r', text), null)).rejects.toMatchObject({ code: '42501' });
  }
});
