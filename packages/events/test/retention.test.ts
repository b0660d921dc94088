import { afterAll, beforeAll, expect, test } from 'vitest';
import { outboxLag, pruneEvents } from '../src/index.ts';
import { appendSome, type EventsDatabase, eventsDatabase } from './support.ts';

let database: EventsDatabase;

beforeAll(async () => {
  database = await eventsDatabase();
});
afterAll(() => database.drop());

test('what was published long ago goes, its number stays, and what was not published stays', async () => {
  const alpha = database.open('alpha');
  await appendSome(alpha, 3, 'old');
  const [unpublished] = await appendSome(alpha, 1, 'waiting');
  const [young] = await appendSome(alpha, 1, 'young');
  await database.admin(
    `update alpha.outbox set published_at = now() - interval '15 days', stream_seq = aggregate_seq where aggregate_id = 'old'`,
  );
  await database.admin(
    `update alpha.outbox set published_at = now() - interval '13 days', stream_seq = 9 where aggregate_id = 'young'`,
  );
  expect(await pruneEvents(alpha)).toBe(3);
  const left = await database.admin(
    'select event_id, aggregate_seq::int as seq, payload is null as blank from alpha.outbox order by seq desc, aggregate_id desc',
  );
  expect(left).toMatchObject([
    { seq: 3, blank: true },
    { event_id: young, seq: 1, blank: false },
    { event_id: unpublished, seq: 1, blank: false },
  ]);
  expect((await outboxLag(alpha)).waiting).toBe(1);
  await appendSome(alpha, 1, 'old');
  const [next] = await database.admin(
    "select max(aggregate_seq)::int as seq from alpha.outbox where aggregate_id = 'old'",
  );
  expect(next).toEqual({ seq: 4 });
  // It is blank already and has nothing more to give.
  expect(await pruneEvents(alpha)).toBe(0);
});

test('inbox ids outlive everything that can still be delivered', async () => {
  const beta = database.open('beta');
  await database.admin(
    `insert into beta.inbox values ('c', 'old', now() - interval '33 days'), ('c', 'young', now() - interval '31 days')`,
  );
  expect(await pruneEvents(beta)).toBe(1);
  expect(await database.admin('select event_id from beta.inbox')).toEqual([{ event_id: 'young' }]);
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
  ]) {
    await expect(alpha.execute(unscoped('r', text), null)).rejects.toMatchObject({ code: '42501' });
  }
});
