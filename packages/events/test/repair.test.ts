import { setTimeout as pause } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { AccountUpdatedSchema, EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { expect, test } from 'vitest';
import { currentRepair, listRepairs } from '../src/index.ts';
import { beginRepair, openRepair, readSlice } from '../src/repairs.ts';
import { noteEffect, useFixture } from './fixture.ts';
import { appendSome, scope, until } from './support.ts';

const on = useFixture();

// In its long form (`npm run repair`) it has the size that the promise names.
const rowsOfOutbox = Number(process.env.ELIGO_TEST_REPAIR_ROWS ?? 4_000);
// The slowest machine that is provided for publishes, delivers and handles 700 a second.
const withinMs = 60_000 + rowsOfOutbox * 1.5;

/** Fills the outbox with events of the last 14 days, published to a stream that is not there any more. */
async function publishedLongAgo(count: number): Promise<void> {
  const rest = toBinary(
    EventSchema,
    create(EventSchema, {
      type: 'account.updated',
      ...scope,
      accountId: '',
      object: { case: 'accountUpdated', value: create(AccountUpdatedSchema, { accountId: scope.accountId }) },
    }),
  );
  await on.database.admin(`
    create or replace function pg_temp.id_at(ms bigint, n bigint) returns text language sql immutable as $$
      select 'fevt_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', ((ms >> (5 * i)) & 31)::int + 1, 1), '' order by i desc)
        || lpad(to_hex(n), 16, '0') from generate_series(0, 9) i
    $$`);
  await on.database.admin('alter table alpha.outbox disable trigger queue_event');
  // A million rows a statement, each some 1.2 s older at ten million in all. Eight accounts, so that consumers handle several at once.
  for (let from = 0; from < count; from += 1_000_000) {
    await on.database.admin(
      `insert into alpha.outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload, created_at)
       select e.id, 'a' || lpad(e.n::text, 29, '0'), 1, 'account.updated', 'facct_' || (e.n % 8), true,
              '\\x0a1f'::bytea || convert_to(e.id, 'UTF8') || $1::bytea || '\\x1a07'::bytea || convert_to('facct_' || (e.n % 8), 'UTF8'), e.at
       from (select n, at, pg_temp.id_at((extract(epoch from at) * 1000)::bigint, n) as id
             from (select n, now() - interval '14 days' + (interval '14 days' * n) / $2 as at
                   from generate_series($3::bigint, $4::bigint) n) times) e`,
      [Buffer.from(rest), count, from, Math.min(count, from + 1_000_000) - 1],
    );
  }
  await on.database.admin('alter table alpha.outbox enable trigger queue_event');
  await on.database.admin('vacuum analyze alpha.outbox');
  await on.database.admin("insert into alpha.outbox_stream values ('ELIGO_ALPHA', 'long ago')");
  await on.database.admin(
    `insert into alpha.outbox_positions (minute, last_seq, oldest_event_id)
     values (date_trunc('minute', now()) - interval '1 hour', $1, '')`,
    [count],
  );
}

async function inboxRows(): Promise<number> {
  const [row] = await on.database.admin<{ rows: number }>('select count(*)::int as rows from beta.inbox');
  return row?.rows ?? 0;
}

test(
  'a stream that was removed is filled again in slices, through kills, and new events do not wait for that',
  async () => {
    await publishedLongAgo(rowsOfOutbox);
    const arrivedAt = new Map<string, number>();
    let handled = 0;
    const consumer = await on.consumer({
      handle: async (_, event) => {
        handled += 1;
        if (event.accountId === scope.accountId) arrivedAt.set(event.eventId, performance.now());
      },
    });
    const begun = performance.now();
    let relay = await on.relay();
    await until(async () => (await currentRepair(on.alpha)) !== undefined || (await listRepairs(on.alpha)).length > 0);
    const waits: number[] = [];
    let kills = 0;
    let added = 0;
    for (let at = 0; (await currentRepair(on.alpha)) !== undefined; at += 1) {
      const before = performance.now();
      const [id = ''] = await appendSome(on.alpha, 1);
      added += 1;
      // The relay's session ends as with its process, in the middle of whatever it does.
      if (kills < 3 && (at === 0 || handled > (rowsOfOutbox * (kills + 1)) / 4)) {
        kills += 1;
        await relay.stop();
        await on.database.admin(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'relay alpha' and datname = current_database()",
        );
        relay = await on.relay();
      }
      await until(() => arrivedAt.has(id), 30_000);
      waits.push((arrivedAt.get(id) ?? 0) - before);
      if (at % 50 === 0 && rowsOfOutbox > 100_000) report(begun, waits, await currentRepair(on.alpha));
      await pause(10);
    }
    const [repair] = await listRepairs(on.alpha);
    expect(repair).toMatchObject({ how: 'missing', keptSeq: -1, progress: 1, finishedAt: expect.any(Date) });
    expect(repair?.events).toBeGreaterThanOrEqual(rowsOfOutbox);
    await until(() => consumer.stats().handled === rowsOfOutbox + added, 120_000);
    expect(await inboxRows()).toBe(rowsOfOutbox + added);
    expect(consumer.stats()).toMatchObject({ handled: rowsOfOutbox + added, failed: 0, deadLettered: 0 });
    // After the first of them had arrived the repair was still in progress.
    expect(waits.length).toBeGreaterThan(1);
    if (rowsOfOutbox <= 100_000) return;
    expect(Math.max(...waits)).toBeLessThan(5_000);
    report(begun, waits, undefined);
  },
  withinMs,
);

function report(begun: number, waits: readonly number[], repair: { events: number; progress: number } | undefined) {
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
  const sorted = waits.toSorted((a, b) => a - b);
  const [median, worst] = [sorted[Math.floor(sorted.length / 2)] ?? 0, sorted.at(-1) ?? 0];
  console.log(
    `${seconds} s: ${repair === undefined ? 'finished' : `${repair.events} again, ${(repair.progress * 100).toFixed(1)} %`}; ` +
      `${waits.length} new events waited ${median.toFixed(0)} ms (median), ${worst.toFixed(0)} ms (longest)`,
  );
}

test('a relay that is killed leaves its position in the database, and the next one continues from there', async () => {
  await publishedLongAgo(1_000);
  await beginRepair(on.alpha, { stream: 'ELIGO_ALPHA', how: 'missing', keptSeq: -1, consumers: 0, created: 'now' });
  const first = await openRepair(on.alpha, 'ELIGO_ALPHA');
  if (first === undefined) throw new Error('there is no repair');
  const { lastEventId } = await readSlice(on.alpha, first);
  await on.database.admin('update alpha.outbox_repairs set after_event_id = $1', [lastEventId]);
  await on.database.admin('delete from alpha.outbox_stream');
  const consumer = await on.consumer();
  await on.relay();
  await until(async () => (await currentRepair(on.alpha)) === undefined);
  await until(() => consumer.stats().handled === 800);
  expect((await listRepairs(on.alpha))[0]).toMatchObject({ events: 800, progress: 1 });
});

test('a loss during a repair begins another one at the earlier of both places, and ends the first', async () => {
  const ids = await appendSome(on.alpha, 10);
  await on.database.admin('delete from alpha.outbox_queue');
  const at = (minutes: number, seq: number, oldest: string | undefined) =>
    on.database.admin(
      `insert into alpha.outbox_positions (minute, last_seq, oldest_event_id, ended_at)
       values (date_trunc('minute', now()) - make_interval(mins => $1), $2, $3, now() - make_interval(mins => $1))`,
      [minutes, seq, oldest],
    );
  await at(60, 3, ids[0]);
  await at(50, 6, ids[3]);
  await at(40, 10, ids[6]);
  const loss = { stream: 'ELIGO_ALPHA', how: 'gone back', consumers: 0 };
  await beginRepair(on.alpha, { ...loss, keptSeq: 7 });
  expect(await openRepair(on.alpha, 'ELIGO_ALPHA')).toMatchObject({ afterEventId: ids[5], lastEventId: ids[9] });
  // The positions beyond the place are forgotten; the next loss is found by those that are left.
  await beginRepair(on.alpha, { ...loss, keptSeq: 4 });
  expect(await openRepair(on.alpha, 'ELIGO_ALPHA')).toMatchObject({ afterEventId: ids[2] });
  await beginRepair(on.alpha, { ...loss, keptSeq: 5 });
  expect(await openRepair(on.alpha, 'ELIGO_ALPHA')).toMatchObject({ afterEventId: ids[2] });
  expect((await listRepairs(on.alpha)).map(({ finishedAt }) => finishedAt === null)).toEqual([true, false, false]);
  await beginRepair(on.alpha, { ...loss, how: 'missing', keptSeq: -1 });
  expect(await openRepair(on.alpha, 'ELIGO_ALPHA')).toMatchObject({ afterEventId: '', lastEventId: ids[9] });
});

test('what was published in the last ten minutes is published again as well, whatever the stream says that it kept', async () => {
  const ids = await appendSome(on.alpha, 4);
  await on.database.admin('delete from alpha.outbox_queue');
  await on.database.admin(
    `insert into alpha.outbox_positions (minute, last_seq, oldest_event_id, ended_at)
     values (date_trunc('minute', now()) - interval '9 minutes', 2, $1, now() - interval '9 minutes')`,
    [ids[2]],
  );
  await beginRepair(on.alpha, { stream: 'ELIGO_ALPHA', how: 'gone back', consumers: 0, keptSeq: 2 });
  expect(await openRepair(on.alpha, 'ELIGO_ALPHA')).toMatchObject({ afterEventId: ids[1] });
});

test('a consumer that does not run holds up the repair for the others only for a time', async () => {
  await publishedLongAgo(2_000);
  const connection = await on.connect('alpha');
  await on.relay({ repairPatienceMs: 500 });
  await until(async () => (await listRepairs(on.alpha)).length > 0);
  await connection.manager.consumers.add('ELIGO_ALPHA', { durable_name: 'gone', ack_policy: 'explicit' as never });
  const consumer = await on.consumer({
    handle: async (tx, event) => void (await tx.execute(noteEffect, null, [event.eventId])),
  });
  await until(() => consumer.stats().handled === 2_000);
  expect(await on.effects()).toEqual({ events: 2_000, effects: 2_000 });
});

test('new events are published while the consumers of the stream cannot be listed, and the repair continues afterwards', async () => {
  await publishedLongAgo(1_000);
  const connection = await on.connect('alpha');
  const { manager } = connection;
  let isRefused = true;
  const consumers = new Proxy(manager.consumers, {
    get(target, name) {
      if (name === 'list' && isRefused) throw new Error('no');
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  await beginRepair(on.alpha, { stream: 'ELIGO_ALPHA', how: 'missing', keptSeq: -1, consumers: 0 });
  await on.database.admin('delete from alpha.outbox_stream');
  await on.relay({ connection: { ...connection, manager: Object.assign(Object.create(manager), { consumers }) } });
  const consumer = await on.consumer();
  for (let i = 1; i <= 5; i++) {
    await appendSome(on.alpha, 1);
    await until(() => consumer.stats().handled === i);
  }
  expect(await currentRepair(on.alpha)).toMatchObject({ events: 0, progress: 0 });
  isRefused = false;
  await until(() => consumer.stats().handled === 1_005);
});

test('the previous release and this one see the same of each other’s work', async () => {
  const [marked = '', waiting = ''] = await appendSome(on.alpha, 2);
  const queued = async () =>
    (await on.database.admin<{ event_id: string }>('select event_id from alpha.outbox_queue order by 1')).map(
      ({ event_id }) => event_id,
    );
  expect(await queued()).toEqual([marked, waiting]);
  // The previous release marks what it publishes, and unmarks what it publishes again.
  await on.database.admin('update alpha.outbox set published_at = now(), stream_seq = 7 where event_id = $1', [marked]);
  expect(await queued()).toEqual([waiting]);
  expect(await on.database.admin('select last_seq::int, oldest_event_id from alpha.outbox_positions')).toEqual([
    { last_seq: 7, oldest_event_id: marked },
  ]);
  await on.database.admin('update alpha.outbox set published_at = null, stream_seq = null where event_id = $1', [
    marked,
  ]);
  expect(await queued()).toEqual([marked, waiting]);
  // Its inserts name no queue.
  const id = newId('event');
  await on.database.admin(
    `insert into alpha.outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload)
     values ($1, 'x', 1, 't', 'f', true, '')`,
    [id],
  );
  expect(await queued()).toEqual([marked, waiting, id]);
});

test('a place of the stream that was taken before is refused by the database alone', async () => {
  const note = (minute: string, first: number | null, last: number) =>
    on.database.admin(
      `insert into alpha.outbox_positions (minute, first_seq, last_seq, oldest_event_id) values ($1, $2, $3, 'x')
       on conflict (minute) do update set last_seq = excluded.last_seq`,
      [minute, first, last],
    );
  await note('2026-01-01 00:00Z', 1, 10);
  await note('2026-01-01 00:00Z', 11, 20);
  const taken = { code: '23505', constraint: 'places_ascend' };
  await expect(note('2026-01-01 00:00Z', 20, 30)).rejects.toMatchObject(taken);
  await expect(note('2026-01-01 00:01Z', 15, 30)).rejects.toMatchObject(taken);
  await note('2026-01-01 00:01Z', 21, 30);
});
