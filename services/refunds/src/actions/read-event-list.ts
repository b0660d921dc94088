import { withTx } from '@eligo/postgres';
import type { EventPage, ProcessorPort } from '@eligo/processor';
import { eventTypesOf } from '@eligo/processor/events';
import type { Context } from '../context.ts';
import { pauseAfterFailedLookMs, pauseWhileNotConfiguredMs } from '../domain/pauses.ts';
import {
  type ClaimedEventList,
  claimEventList,
  type EventList,
  finishReading,
  postponeReading,
  saveReading,
} from '../store/event-lists.ts';
import { storeEvents } from '../store/processor-events.ts';
import { listedForMs } from './find-event-lists.ts';

/** How a reading is paced, stopped and counted. */
export interface Reading {
  /** Waits until the processor may be asked again. */
  pace(): Promise<void>;
  /** Pages in one turn; then other lists have theirs. */
  readonly mostPages: number;
  /** Told how many of the events of a page were not delivered before. */
  found(processor: string, events: number): void;
}

// The processor lists an event some time after it happened, and its clock is not ours.
const overlapMs = 300_000;
const pauseMs = 600_000;
// The place of a reading is an event that the processor must still list.
const longestReadingMs = 86_400_000;
const types = eventTypesOf('refunds');

/**
 * Reads a processor's list of events from the watermark on, newest first, and stores what was not delivered. The watermark moves when all pages are
 * stored; a reading that is cut off goes on behind its last page.
 */
export async function readEventList(context: Context, due: EventList, reading: Reading): Promise<void> {
  const { database, processors, budgets } = context;
  const list = await withTx(database, due.scope, (tx) => claimEventList(tx, due, budgets.leaseMs));
  if (list === undefined) return;
  const postpone = (inMs: number, options?: { anew: boolean }) =>
    withTx(database, list.scope, (tx) => postponeReading(tx, list, inMs, options));
  const port = processors.findAt(list.scope, list.account);
  if (port === undefined) return postpone(pauseWhileNotConfiguredMs);
  if (port.isDown()) return postpone(pauseAfterFailedLookMs);
  const place = placeOf(list, new Date());
  let { to } = place;
  const from = firstListed(context, list, new Date());
  for (let pages = 0; pages < reading.mostPages; pages++) {
    await reading.pace();
    const page = await port.listEvents({ types, from, after: place.after }, { timeoutMs: budgets.processorMs });
    if (page.kind === 'not_now') return postpone(page.retryAfterMs);
    if (page.kind === 'rejected') {
      context.logger.warn({ processor: port.name, code: page.code }, 'Processor refused its event list; will retry');
      return postpone(pauseAfterFailedLookMs, { anew: true });
    }
    if (page.kind !== 'page') return postpone(pauseAfterFailedLookMs);
    // By the clock that dates events: if ours were a day ahead, what was not delivered in that day would be in no reading.
    to ??= watermarkAt(page.at ?? new Date(), list);
    await storePage(context, list, port, page, to, reading);
    if (!page.hasMore || page.lastId === undefined) return;
    place.after = page.lastId;
    await context.failpoint('event_list.after_page');
  }
  return postpone(0);
}

// A page and the place behind it commit together; with the last page the watermark moves.
async function storePage(
  { database, budgets }: Context,
  list: ClaimedEventList,
  port: ProcessorPort,
  page: EventPage,
  to: Date,
  reading: Reading,
): Promise<void> {
  const events = page.events.map(({ eventId, type, objectId, createdAt }) => ({
    ...{ processor: port.name, processorAccount: list.account.account, eventId, type, objectId, createdAt },
  }));
  const found = await withTx(database, list.scope, async (tx) => {
    const stored = events.length === 0 ? 0 : await storeEvents(tx, list.scope, events);
    if (page.hasMore && page.lastId !== undefined) await saveReading(tx, list, to, page.lastId, budgets.leaseMs);
    else await finishReading(tx, list, to, pauseMs);
    return stored;
  });
  if (found > 0) reading.found(port.name, found);
}

interface Place {
  /** Where the watermark is once the reading is finished; undefined before its first page. */
  readonly to: Date | undefined;
  after: string | undefined;
}

function placeOf({ readingTo, readingAfter }: ClaimedEventList, now: Date): Place {
  if (readingTo !== null && now.getTime() - readingTo.getTime() < longestReadingMs) {
    return { to: readingTo, after: readingAfter ?? undefined };
  }
  return { to: undefined, after: undefined };
}

function watermarkAt(now: Date, { readTo }: ClaimedEventList): Date {
  return new Date(Math.max(now.getTime() - overlapMs, readTo.getTime() + 1));
}

function firstListed(context: Context, { readTo, account, scope }: ClaimedEventList, now: Date): Date {
  const oldest = now.getTime() - listedForMs;
  // A list begins 30 days back: only one that was not read for longer has a gap.
  if (readTo.getTime() < oldest - 86_400_000) {
    context.logger.warn(
      { accountId: scope.accountId, processor: account.processor, processorAccountId: account.account },
      'Event list of the processor has not been read for over 30 days; older events are lost',
    );
  }
  return new Date(Math.max(readTo.getTime(), oldest));
}
