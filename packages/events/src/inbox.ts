import { toBinary } from '@bufbuild/protobuf';
import { asOwnWork, type Database, type Scope, type Tx, unscoped, withTx } from '@eligo/postgres';
import { type Event, EventSchema } from '@eligo/proto/events/v1/events';

/** What a consumer does with an event, in the transaction that also notes that it has been done. */
export type HandleEvent = (tx: Tx, event: Event) => Promise<void>;

/** The same for events of one account and mode, in their order. */
export type HandleEvents = (tx: Tx, events: readonly Event[]) => Promise<void>;

/** Handles an event once, however often it is delivered: the inbox entry and the effect commit together. Returns false if it was handled before. */
export async function handleOnce(
  database: Database,
  consumer: string,
  event: Event,
  handle: HandleEvent,
): Promise<boolean> {
  const [isNew] = await handleTogether(database, consumer, [event], eachOf(handle));
  return isNew === true;
}

/** As `handleOnce`, for events of one account and mode in their order: all take effect, or none does. */
export function handleTogether(
  database: Database,
  consumer: string,
  events: readonly [Event, ...Event[]],
  handle: HandleEvents,
): Promise<boolean[]> {
  const inTransaction = async (tx: Tx) => {
    const noted = await noteInInbox(
      tx,
      consumer,
      events.map(({ eventId }) => eventId),
    );
    // The same one may be among them twice.
    const areNew = events.map(({ eventId }) => noted.delete(eventId));
    const unknown = events.filter((_event, index) => areNew[index] === true);
    if (unknown.length > 0) await handle(tx, unknown);
    return areNew;
  };
  return asOwnWork(() => withTx(database, scopeOf(events[0]), inTransaction));
}

/** Handles events one after the other. */
export function eachOf(handle: HandleEvent): HandleEvents {
  return async (tx, events) => {
    for (const event of events) await handle(tx, event);
  };
}

/** Records that a consumer handles these events in this transaction; returns those that were not handled before. */
export async function noteInInbox(tx: Tx, consumer: string, eventIds: readonly string[]): Promise<Set<string>> {
  return new Set((await tx.rows(note, null, [consumer, eventIds])).map(({ event_id }) => event_id));
}

/** Dead-letters an event that a consumer cannot handle. Returns true when it was not a dead letter before. */
export async function deadLetter(
  database: Database,
  consumer: string,
  event: Event,
  error: string,
  deliveries: number,
): Promise<boolean> {
  const payload = Buffer.from(toBinary(EventSchema, event));
  const { eventId, type, accountId, testMode } = event;
  const values = [consumer, eventId, type, accountId, testMode, payload, error, deliveries];
  return (await database.execute(insertDeadLetter, null, values)) === 1;
}

/** The scope that an event's effects belong to; none for what concerns no account. */
export function scopeOf(event: Event): Scope | null {
  return event.accountId === '' ? null : { accountId: event.accountId, testMode: event.testMode };
}

const note = unscoped<{ event_id: string }>(
  'events.note_in_inbox',
  'insert into inbox (consumer, event_id) select $1, unnest($2::text[]) on conflict do nothing returning event_id',
);
const insertDeadLetter = unscoped(
  'events.dead_letter',
  `insert into dead_letters (consumer, event_id, type, account_id, test_mode, payload, error, deliveries)
   values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
);
