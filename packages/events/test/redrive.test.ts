import { beforeEach, expect, test } from 'vitest';
import {
  countDeadLetters,
  type DeadLetterFilter,
  deadEvent,
  listDeadLetters,
  missingEvents,
  outboxLag,
  publishAgain,
  requestRedrive,
} from '../src/index.ts';
import { noteEffect, useFixture } from './fixture.ts';
import { appendSome, until } from './support.ts';

const on = useFixture();

beforeEach(async () => {
  await on.relay();
});

const soon = { retryDelayMs: () => 5, maxDeliveries: 2, redrivePollMs: 20 };

/** A consumer that fails on every event until it is mended; each of its tries leaves an effect behind that only a commit keeps. */
async function brokenConsumer(state: { mended: boolean }) {
  return on.consumer({
    ...soon,
    handle: async (tx, event) => {
      await tx.execute(noteEffect, null, [event.eventId]);
      if (!state.mended) throw new TypeError('John Doe, 1 Main Street');
    },
  });
}

async function makeDeadLetters(count: number): Promise<string[]> {
  const ids = await appendSome(on.alpha, count);
  await until(async () => (await countDeadLetters(on.beta)) === count);
  return ids;
}

test('a redriven dead letter is handled once by the running consumers, however many there are', async () => {
  const state = { mended: false };
  await brokenConsumer(state);
  await brokenConsumer(state);
  const ids = await makeDeadLetters(5);
  state.mended = true;
  expect(await requestRedrive(on.beta, { eventId: ids[0] })).toBe(1);
  await until(async () => (await countDeadLetters(on.beta)) === 4);
  expect(await on.effects()).toEqual({ events: 1, effects: 1 });
  expect(await requestRedrive(on.beta)).toBe(4);
  await requestRedrive(on.beta);
  await until(async () => (await countDeadLetters(on.beta)) === 0);
  expect(await on.effects()).toEqual({ events: 5, effects: 5 });
  expect(await requestRedrive(on.beta)).toBe(0);
});

test('one that fails again stays, with what it failed of, and is not tried again by itself', async () => {
  const state = { mended: false };
  await brokenConsumer(state);
  const [id] = await makeDeadLetters(1);
  expect(await listDeadLetters(on.beta)).toMatchObject([{ eventId: id, redrives: 0, redriveAt: null }]);
  await requestRedrive(on.beta, { consumer: 'effects' });
  await until(async () => (await listDeadLetters(on.beta))[0]?.redrives === 1);
  expect(await listDeadLetters(on.beta)).toMatchObject([{ redrives: 1, redriveAt: null, error: 'TypeError' }]);
  expect(await deadEvent(on.beta, 'effects', id ?? '')).toMatchObject({ eventId: id, aggregateSeq: 1n });
  expect(await on.effects()).toEqual({ events: 0, effects: 0 });
  expect(JSON.stringify(on.logger.lines)).not.toContain('John Doe');
});

test('one that the consumer has handled in the meantime is only removed', async () => {
  const state = { mended: false };
  await brokenConsumer(state);
  const [id] = await makeDeadLetters(1);
  await on.database.admin("insert into beta.inbox (consumer, event_id) values ('effects', $1)", [id]);
  state.mended = true;
  await requestRedrive(on.beta);
  await until(async () => (await countDeadLetters(on.beta)) === 0);
  expect(await on.effects()).toEqual({ events: 0, effects: 0 });
});

test('is handled while NATS is down', async () => {
  const state = { mended: false };
  await brokenConsumer(state);
  await makeDeadLetters(1);
  await on.nats.kill();
  state.mended = true;
  await requestRedrive(on.beta);
  await until(async () => (await countDeadLetters(on.beta)) === 0);
  expect(await on.effects()).toEqual({ events: 1, effects: 1 });
  await on.nats.start();
});

test('of an incident are asked for page by page, in one consumer or in all, and once', async () => {
  const most = 1_000;
  await on.database.admin(`
    insert into beta.dead_letters (consumer, event_id, type, account_id, test_mode, payload, error, deliveries)
    select consumer, 'fevt_' || lpad(n::text, 6, '0'), 't', 'facct_a', true, '', 'Error', 20
      from unnest(array['many', 'more']) consumer, generate_series(1, ${2 * most + 1}) n;
    create function beta.refuse_long_page() returns trigger language plpgsql as $$ begin
      if (select count(*) from marked) > ${most} then raise exception 'a page is too long'; end if;
      return null;
    end $$;
    create trigger refuse_long_page after update on beta.dead_letters referencing new table as marked
      for each statement execute function beta.refuse_long_page()`);
  const asked = async () =>
    (
      await on.database.admin<{ consumer: string; asked: number }>(
        `select consumer, count(redrive_at)::int as asked from beta.dead_letters group by consumer order by consumer`,
      )
    ).map((row) => [row.consumer, row.asked]);
  expect(await requestRedrive(on.beta, { consumer: 'many' })).toBe(2 * most + 1);
  expect(await asked()).toEqual([
    ['many', 2 * most + 1],
    ['more', 0],
  ]);
  const first = await listDeadLetters(on.beta, 1, { consumer: 'many' });
  expect(await requestRedrive(on.beta)).toBe(4 * most + 2);
  expect(await asked()).toEqual([
    ['many', 2 * most + 1],
    ['more', 2 * most + 1],
  ]);
  expect(await listDeadLetters(on.beta, 1, { consumer: 'many' })).toEqual(first);
  expect(await requestRedrive(on.beta, { consumer: 'fewer' })).toBe(0);
  expect(await requestRedrive(on.beta, { eventId: 'fevt_000007' })).toBe(2);
  await on.database.admin('drop trigger refuse_long_page on beta.dead_letters; drop function beta.refuse_long_page');
});

test('are listed from the oldest event on, of all consumers, of one, and of an event', async () => {
  await on.database.admin(`
    insert into beta.dead_letters (consumer, event_id, type, account_id, test_mode, payload, error, deliveries)
    select consumer, 'fevt_' || n, 't', 'facct_a', true, '', 'Error', 20 from unnest(array['b', 'a']) consumer, generate_series(3, 1, -1) n`);
  const named = async (...given: [limit?: number, filter?: DeadLetterFilter]) =>
    (await listDeadLetters(on.beta, ...given)).map(({ consumer, eventId }) => `${consumer} ${eventId}`);
  expect(await named(3)).toEqual(['a fevt_1', 'b fevt_1', 'a fevt_2']);
  expect(await named(2, { consumer: 'b' })).toEqual(['b fevt_1', 'b fevt_2']);
  expect(await named(9, { eventId: 'fevt_3' })).toEqual(['a fevt_3', 'b fevt_3']);
  expect(await named(9, { eventId: 'fevt_3', consumer: 'b' })).toEqual(['b fevt_3']);
});

test('events that a consumer never had are found, and are had once after they are published again', async () => {
  await on.consumer();
  const lost = await appendSome(on.alpha, 3);
  await until(async () => (await on.effects()).events === 3);
  // The consumer may be done before the relay has written down that they are published.
  await until(async () => (await outboxLag(on.alpha)).waiting === 0);
  // What an inbox that came back older leaves: acknowledged long ago, and not known here.
  await on.database.admin('delete from beta.inbox');
  await on.database.admin('truncate beta.effects');
  const query = { url: on.database.adminUrl, from: 'alpha', service: 'beta', types: ['*'], consumer: 'effects' };
  const missing = await missingEvents({ ...query, graceSeconds: 0 });
  expect(missing.map(({ eventId }) => eventId)).toEqual(lost);
  expect(await publishAgain(on.alpha, lost)).toEqual({ asked: [], tooRecent: lost });
  await on.database.admin("update alpha.outbox_positions set ended_at = ended_at - interval '3 minutes'");
  const connection = await on.connect('alpha');
  // The server's window for duplicates does not hear of our clock.
  await connection.manager.streams.purge('ELIGO_ALPHA');
  await on.nats.stop();
  await on.nats.start();
  expect(await publishAgain(on.alpha, [...lost, 'fevt_unknown'])).toEqual({ asked: lost, tooRecent: [] });
  await until(async () => (await on.effects()).events === 3);
  expect(await on.effects()).toEqual({ events: 3, effects: 3 });
  expect(await missingEvents({ ...query, graceSeconds: 0 })).toEqual([]);
});

test('a request of another process wakes the process whose relay leads', async () => {
  let isMended = false;
  await on.consumer({
    retryDelayMs: () => 5,
    maxDeliveries: 2,
    handle: async (tx, event) => {
      if (!isMended) throw new TypeError('no');
      await tx.execute(noteEffect, null, [event.eventId]);
    },
  });
  const relay = await on.relay({ database: on.beta, service: 'beta', connection: await on.connect('beta') });
  await until(() => relay.isLeading());
  await makeDeadLetters(2);
  isMended = true;
  await requestRedrive(on.database.open('beta'));
  // Without the request's NOTIFY the next look is 30 seconds away.
  await until(async () => (await countDeadLetters(on.beta)) === 0);
  expect(await on.effects()).toEqual({ events: 2, effects: 2 });
});

test('a request of the same process wakes it without NOTIFY', async () => {
  let isMended = false;
  await on.consumer({
    retryDelayMs: () => 5,
    maxDeliveries: 2,
    handle: async () => (isMended ? undefined : Promise.reject(new TypeError('no'))),
  });
  await makeDeadLetters(1);
  isMended = true;
  await requestRedrive(on.beta);
  await until(async () => (await countDeadLetters(on.beta)) === 0);
});
