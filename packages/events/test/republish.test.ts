import { afterAll, beforeAll, expect, test } from 'vitest';
import { missingPages, publishAgain } from '../src/index.ts';
import { type EventsDatabase, eventsDatabase, scope } from './support.ts';

let database: EventsDatabase;
beforeAll(async () => {
  database = await eventsDatabase();
});
afterAll(() => database?.drop());

const count = 2_500;
const idOf = (n: number) => `fevt_${String(n).padStart(26, '0')}`;
const all = Array.from({ length: count }, (_, n) => idOf(n + 1));

// Published an hour ago, and not known to the consumer since its inbox came back older.
async function lose(): Promise<void> {
  await database.admin(
    `insert into alpha.outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload, created_at, published_at, stream_seq)
     select 'fevt_' || lpad(n::text, 26, '0'), 'a' || n, 1, 'account.updated', $1, $2, '\\x00', now() - interval '1 hour', now() - interval '1 hour', n
       from generate_series(1, ${count}) n`,
    [scope.accountId, scope.testMode],
  );
  await database.admin('delete from alpha.outbox_queue');
}

test('many events are asked for again a thousand at a time, each in a transaction of its own', async () => {
  await lose();
  await database.admin(`create function alpha.count_asked() returns trigger language plpgsql as $$ begin
      if (select count(*) from asked) > 1000 then raise exception 'too many at once'; end if; return null; end $$;
    create trigger count_asked after insert on alpha.outbox_queue referencing new table as asked for each statement execute function alpha.count_asked()`);
  const alpha = database.open('alpha');
  expect(await publishAgain(alpha, [...all, 'fevt_unknown'])).toEqual({ asked: all, tooRecent: [] });
  const made = await database.admin('select distinct xmin::text from alpha.outbox_queue');
  expect(made).toHaveLength(3);
  // Those that are on their way by now count as asked for.
  expect(await publishAgain(alpha, all)).toEqual({ asked: all, tooRecent: [] });
});

test('missing events are found page by page, each with every consumer that misses it', async () => {
  await database.admin(
    `insert into beta.inbox (consumer, event_id) select 'effects', event_id from alpha.outbox where event_id <> $1 and event_id <> $2`,
    [idOf(3), idOf(2_400)],
  );
  const consumers = ['effects', 'another'].map((consumer) => ({ service: 'beta', consumer, types: ['*'] }));
  const pages: number[] = [];
  const missed: string[] = [];
  for await (const page of missingPages({ url: database.adminUrl, from: 'alpha', consumers, pageSize: 1_000 })) {
    pages.push(page.length);
    for (const { consumer, eventId, isPublished } of page)
      if (consumer === 'effects') missed.push(`${eventId} ${isPublished}`);
  }
  expect(pages).toEqual([1_001, 1_000, 501]);
  expect(missed).toEqual([idOf(3), idOf(2_400)].map((id) => `${id} false`));
});
