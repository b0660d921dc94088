import { withTx } from '@eligo/postgres';
import type { BalanceTransactionFacts } from '@eligo/processor';
import type { Context } from '../context.ts';
import {
  type ClaimedFeed,
  claimFeed,
  type FeedProgress,
  holdFeed,
  type LedgerFeed,
  saveFeed,
} from '../store/ledger-feeds.ts';
import { type ListedMovement, storeListed } from '../store/processor-transactions.ts';

// Longer than a page takes to fetch and to store; renewed with each page.
const leaseMs = 30_000;
// 20,000 movements: a window with more of them is read again in halves.
const mostPages = 200;
const daySeconds = 86_400;
const shortestWindowSeconds = 60;
// The newest window is read again from a minute before its end: the processor may list a movement later than one that was made after it.
const overlapMs = 60_000;
// What ended so long ago is listed whole.
const settledAfterMs = 3_600_000;
const quietPausesMs = [5_000, 15_000, 60_000, 300_000, 1_800_000, 3_600_000];

/**
 * Reads what the processor lists of an account's balance, from where the last read ended: a day at a time while there are whole days, then the rest.
 * Each page is stored as it comes, once; the place moves on when the window is whole, so that a crash reads a window again and skips none.
 */
export async function readBalance(
  { database, processors, budgets, logger }: Pick<Context, 'database' | 'processors' | 'budgets' | 'logger'>,
  feed: LedgerFeed,
): Promise<void> {
  const { scope } = feed;
  const claimed = await withTx(database, scope, (tx) => claimFeed(tx, feed, leaseMs));
  if (claimed === undefined) return;
  const port = processors.findAt(scope, feed.processorAccount);
  const save = (after: FeedProgress) => withTx(database, scope, (tx) => saveFeed(tx, feed, claimed, after));
  const quietReads = claimed.quietReads + 1;
  if (port === undefined) return save({ ...claimed, quietReads, inMs: pauseMs(quietReads) });

  const before = windowEnd(claimed);
  let after: string | undefined;
  let stored = 0;
  let newest = claimed.readFrom;
  let now: Date | undefined;
  for (let page = 0; page < mostPages; page++) {
    const listed = await port.listBalanceTransactions(
      { from: claimed.readFrom, before, after },
      { timeoutMs: budgets.processorMs },
    );
    if (listed.kind !== 'page') {
      const inMs = listed.kind === 'not_now' ? listed.retryAfterMs : pauseMs(quietReads);
      return save({ ...claimed, quietReads, inMs });
    }
    stored += await withTx(database, scope, async (tx) => {
      await holdFeed(tx, feed, leaseMs);
      return storeListed(tx, scope, feed.processorAccount, listed.transactions.map(movementOf));
    });
    for (const { createdAt } of listed.transactions) if (createdAt > newest) newest = createdAt;
    after = listed.lastId;
    // What is made after the first page is in none of them.
    now ??= listed.at ?? new Date();
    if (!listed.hasMore || after === undefined) {
      return save(progress(claimed, before, { newest, now, hasNews: stored > 0 }));
    }
  }
  const windowSeconds = Math.max(shortestWindowSeconds, Math.floor(spanSeconds(claimed, before) / 2));
  if (windowSeconds === claimed.windowSeconds) {
    logger.warn(
      { accountId: scope.accountId },
      'Processor lists more balance transactions in a minute than one read accepts',
    );
  }
  return save({ ...claimed, windowSeconds, inMs: 0 });
}

function windowEnd({ readFrom, windowSeconds }: ClaimedFeed): Date | undefined {
  const end = readFrom.getTime() + windowSeconds * 1_000;
  // A shortened window has an end even if it is recent: what is listed late in it is read again with the next.
  const isWhole = end < Date.now() - settledAfterMs || windowSeconds < daySeconds;
  return isWhole ? new Date(end) : undefined;
}

/** What a window had: its newest movement, whether it had a new one, and the time of its first page by the clock that dates movements. */
interface Listed {
  readonly newest: Date;
  readonly hasNews: boolean;
  readonly now: Date;
}

// By the processor's clock: if ours were a day ahead, a window would seem to be over while movements can still arrive in it, and none of them would be read.
function progress(claimed: ClaimedFeed, before: Date | undefined, { newest, hasNews, now }: Listed): FeedProgress {
  const quietReads = hasNews ? 0 : claimed.quietReads + 1;
  // A window that was shortened grows again, up to a day.
  const windowSeconds = Math.min(daySeconds, claimed.windowSeconds * 2);
  const isPast = before !== undefined && before < now;
  if (isPast) {
    const isSettled = before.getTime() < now.getTime() - settledAfterMs;
    const readFrom = isSettled ? before : later(claimed.readFrom, new Date(before.getTime() - overlapMs / 2));
    return { readFrom, windowSeconds, quietReads, inMs: 0 };
  }
  const readFrom = later(claimed.readFrom, new Date(newest.getTime() - overlapMs));
  return { readFrom, windowSeconds, quietReads, inMs: pauseMs(quietReads) };
}

function later(one: Date, other: Date): Date {
  return one > other ? one : other;
}

function spanSeconds({ readFrom }: ClaimedFeed, before: Date | undefined): number {
  return ((before?.getTime() ?? Date.now()) - readFrom.getTime()) / 1_000;
}

function pauseMs(quietReads: number): number {
  return quietPausesMs[Math.min(quietReads, quietPausesMs.length - 1)] ?? 3_600_000;
}

function movementOf(facts: BalanceTransactionFacts): ListedMovement {
  const { type, reportingCategory, amountCents, feeCents, applicationFeeCents, netCents, createdAt } = facts;
  return {
    ...{ type, reportingCategory, amountCents, feeCents, applicationFeeCents, netCents, createdAt },
    processorTransactionId: facts.balanceTransactionId,
    availableOn: new Date(facts.availableOn * 1_000),
    sourceId: facts.sourceId ?? null,
  };
}
