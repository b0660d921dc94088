import { create } from '@bufbuild/protobuf';
import { withTx } from '@eligo/postgres';
import { AccountUpdatedSchema, type Event, EventSchema } from '@eligo/proto/events/v1/events';
import {
  fillTables,
  growths,
  type Readings,
  readStatements,
  seededAccount,
  seededEvents,
  seededId,
  statementsNotRun,
  takeQuietStatistics,
} from '@eligo/testkit';
import { newId } from '@eligo/values';
import { beforeAll, expect, test } from 'vitest';
import { append, appendAll, type NewEvent } from '../src/append.ts';
import type { EventConnection } from '../src/connection.ts';
import * as deadLetters from '../src/dead-letters.ts';
import { deadLetter, handleOnce } from '../src/inbox.ts';
import { hasEvent, outboxLag, readQueue } from '../src/outbox.ts';
import { lastPosition, recordPublished } from '../src/positions.ts';
import { watchProgress } from '../src/progress.ts';
import * as repairs from '../src/repairs.ts';
import { publishAgain } from '../src/republish.ts';
import { pruneEvents } from '../src/retention.ts';
import { rememberedStream } from '../src/stream-memory.ts';
import { installationLabel } from '../src/stream-owner.ts';
import { type EventsDatabase, eventsDatabase } from './support.ts';

const schema = 'alpha';

let read: { small: Readings; large: Readings };
beforeAll(async () => {
  read = { small: await readWith(1_000), large: await readWith(100_000) };
}, 240_000);

test('every statement of the outbox and the inbox is run on the large account', () => {
  // A NOTIFY reads nothing.
  expect(statementsNotRun(read.large, 'events.').filter((name) => name !== 'events.notify')).toEqual([]);
});

test('no statement reads more among 100,000 events than among 1,000', () => {
  expect(growths(read.small, read.large, longPages)).toEqual([]);
});

const longPages = [
  // A batch of 500, each with its event, the one before it in its aggregate, and whether that waits.
  { statement: /^events\.queue$/, rows: 2_000 },
  // Counts for metrics, which stop.
  { statement: /^events\.lag$/, rows: 100_010 },
  { statement: /^events\.count_dead_letters$/, rows: 10_000 },
];

// In the small one an index is used even where it is not worth it.
async function readWith(each: number): Promise<Readings> {
  const on = await eventsDatabase();
  try {
    const name = new URL(on.adminUrl).pathname.slice(1);
    await seed(on, each);
    if (each > 1_000) await takeQuietStatistics(on, schema);
    const readings = await readStatements({ name, admin: on.admin }, { sequentialScans: each > 1_000 });
    await run(on);
    return readings;
  } finally {
    await on.drop();
  }
}

// A year of events. There is a position for each minute of 45 days at most, however many events there are.
async function seed(place: EventsDatabase, each: number): Promise<void> {
  await fillTables(place, schema, [
    ...seededEvents(each),
    `outbox_positions (minute, first_seq, last_seq, oldest_event_id, oldest_new_event_id, ended_at)
     select date_trunc('minute', now()) - (1000 - n) * interval '1 minute', n, n, '${seededId('fevt', 1).slice(0, -4)}' || lpad(n::text, 4, '0'),
       null, date_trunc('minute', now()) - (1000 - n) * interval '1 minute' from generate_series(1, 1000) n`,
    `outbox_repairs (found_at, stream, how, kept_seq, consumers, events, after_event_id, last_event_id, began_after_event_id, finished_at)
     select now() - n * interval '1 day', 'ELIGO_GAMMA', 'missing', 0, 1, 1, '', '', '', now() from generate_series(1, 20) n`,
  ]);
  await place.admin(`update ${schema}.outbox_pruned set event_id = ''`);
  // One record that changed as often. The newest fifth of its events waits, before all others.
  await place.admin(`insert into ${schema}.outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload)
    select 'fevt_0' || lpad(n::text, 9, '0'), 'busy', n, 't', '${seededAccount}', true, '' from generate_series(1, ${each}) n`);
  await place.admin(
    `delete from ${schema}.outbox_queue where event_id between 'fevt_0' and 'fevt_0${String((each * 4) / 5).padStart(9, '0')}'`,
  );
  await place.admin(`vacuum analyze ${schema}.outbox_queue`);
}

const scope = { accountId: seededAccount, testMode: true };

async function run(place: EventsDatabase): Promise<void> {
  // Beside other tests, a statement that says how it ran takes longer than the service's own bound expects.
  const database = place.open(schema, { statementTimeoutMs: 30_000 });
  await runAppends(database);
  await runDeadLetters(database);
  await runRelay(database);
  await runRepair(database);
}

type Database = ReturnType<EventsDatabase['open']>;

// Of an aggregate that has events, and of new ones; in the transaction's own account, and outside of accounts.
async function runAppends(database: Database): Promise<void> {
  const events = [seededId('fcs', 1), newId('checkout_session')].map(accountEvent);
  for (const own of [scope, null]) {
    await withTx(database, own, async (tx) => {
      for (const event of events) await append(tx, event);
      await appendAll(tx, events);
    });
  }
}

function accountEvent(aggregateId: string): NewEvent {
  const value = create(AccountUpdatedSchema, { accountId: scope.accountId, version: 1n });
  return { type: 'account.updated', aggregateId, ...scope, object: { case: 'accountUpdated', value } };
}

async function runDeadLetters(database: Database): Promise<void> {
  const event: Event = create(EventSchema, { eventId: newId('event'), type: 'account.updated', ...scope });
  const none = async () => undefined;
  const { eventId } = event;
  await handleOnce(database, 'one', event, none);
  await deadLetter(database, 'two', event, 'failed', 20);
  await deadLetters.listDeadLetters(database, 10);
  await deadLetters.listDeadLetters(database, 10, { consumer: 'two' });
  await deadLetters.listDeadLetters(database, 10, { consumer: 'two', eventId });
  await deadLetters.listDeadLetters(database, 10, { eventId });
  await deadLetters.deadLettersNow(database, [{ consumer: 'two', eventId }]);
  await deadLetters.countDeadLetters(database);
  await deadLetters.requestRedrive(database, { eventId });
  await deadLetters.requestRedrive(database, { consumer: 'two' });
  await deadLetters.requestedRedrives(database, 'two', 10);
  await deadLetters.noteFailedRedrive(database, 'two', eventId, 'failed');
  await deadLetters.redrive(database, 'two', eventId, none);
}

async function runRelay(database: Database): Promise<void> {
  const { rows } = await readQueue(database);
  await outboxLag(database);
  await hasEvent(database, seededId('fevt', 7));
  await installationLabel(database);
  const unconnected = { isConnected: () => false } as EventConnection;
  await watchProgress(database, unconnected, schema)();
  const lastSeq = await lastPosition(database);
  const stored = rows.slice(0, 2).map(({ event_id }, n) => ({
    ...{ eventId: event_id, streamSeq: lastSeq + n + 1, duplicate: false },
  }));
  await recordPublished(database, { stored, dequeue: stored.map(({ eventId }) => eventId), lastSeq });
  await publishAgain(database, [seededId('fevt', 7)]);
  await pruneEvents(database, {}, 10);
}

async function runRepair(database: Database): Promise<void> {
  const stream = 'ELIGO_GAMMA';
  await repairs.beginRepair(database, { stream, how: 'missing', keptSeq: 900, consumers: 1, created: 'now' });
  await rememberedStream(database, stream);
  await repairs.beginRepair(database, { stream, how: 'missing', keptSeq: 0, consumers: 1 });
  const repair = await repairs.openRepair(database, stream);
  if (repair === undefined) throw new Error('No repair is open');
  const { lastEventId = '' } = await repairs.readSlice(database, repair);
  await repairs.advanceRepair(database, repair, lastEventId, 200);
  await repairs.readSlice(database, { ...repair, afterEventId: lastEventId });
  await repairs.listRepairs(database, 10);
  await repairs.finishRepair(database, repair);
}
