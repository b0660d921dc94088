import { type Scope, withTx } from '@eligo/postgres';
import type { PayoutFacts, ProcessorPort, Processors } from '@eligo/processor';
import type { Context } from '../context.ts';
import {
  type ClaimedPayout,
  claimPayout,
  countAwaited,
  endLook,
  noteTransactions,
  saveNoted,
  savePayout,
} from '../store/payouts.ts';

// Longer than a page takes to fetch and to store; renewed with each page.
const leaseMs = 30_000;
// 2,000 movements; the next look goes on behind them.
const mostPages = 20;
/** One that is on its way is asked about so often: it takes days. */
const onItsWayMs = 3_600_000;
const pausesMs = [2_000, 5_000, 15_000, 60_000, 300_000, 1_800_000, 3_600_000];

type PayoutContext = Pick<Context, 'database' | 'budgets'> & { readonly processors: Pick<Processors, 'findAt'> };

/**
 * Asks the processor for a payout, and notes page by page which movements it took. A page with a movement that is not posted yet is read again with the
 * next look.
 */
export async function lookAtPayout(context: PayoutContext, scope: Scope, payoutId: string): Promise<void> {
  const { database, processors, budgets } = context;
  const claimed = await withTx(database, scope, (tx) => claimPayout(tx, scope, payoutId, leaseMs));
  if (claimed === undefined) return;
  const later = (inMs = pauseMs(claimed)) => withTx(database, scope, (tx) => endLook(tx, scope, claimed, inMs));
  const port = processors.findAt(scope, claimed.processorAccount);
  if (port === undefined) return later();
  const facts = await port.retrievePayout(claimed.processorPayoutId, { timeoutMs: budgets.processorMs });
  if (facts.kind !== 'found') return later(facts.kind === 'not_now' ? facts.retryAfterMs : undefined);
  await withTx(database, scope, (tx) => savePayout(tx, scope, payoutId, facts));
  const inMs = claimed.isNoted ? onItsWayMs : await noteAll(context, scope, port, claimed, facts);
  await later(inMs);
}

/** In how long the next look is to be; undefined for the usual pause. */
async function noteAll(
  context: PayoutContext,
  scope: Scope,
  port: ProcessorPort,
  claimed: ClaimedPayout,
  facts: PayoutFacts,
): Promise<number | undefined> {
  const call = { timeoutMs: context.budgets.processorMs };
  let after = claimed.notedTo;
  for (let page = 0; page < mostPages; page++) {
    const listed = facts.automatic
      ? await port.listPayoutTransactions({ payoutId: facts.payoutId, after }, call)
      : onlyItself(facts);
    if (listed.kind !== 'page') return listed.kind === 'not_now' ? listed.retryAfterMs : undefined;
    const movements = listed.transactions.map(({ balanceTransactionId, createdAt }) => {
      return { processorTransactionId: balanceTransactionId, createdAt };
    });
    after = listed.lastId ?? after;
    const isNoted = !listed.hasMore || listed.lastId === undefined;
    const isPosted = await withTx(context.database, scope, async (tx) => {
      // Counted first: a movement that is posted after the count is either noted with the others, or waits for the next look.
      const areAllPosted = (await countAwaited(tx, scope, claimed.processorAccount, movements)) === 0;
      // The payout is locked before the balance transactions, as where movements are posted: otherwise both could wait for each other.
      if (areAllPosted) await saveNoted(tx, scope, claimed.payoutId, { notedTo: after, isNoted }, leaseMs);
      await noteTransactions(tx, scope, claimed, movements);
      return areAllPosted;
    });
    if (!isPosted) return undefined;
    if (isNoted) return onItsWayMs;
  }
  return 0;
}

// The processor lists what an automatic payout took, and nothing of another.
function onlyItself({ balanceTransactionId, createdAt }: PayoutFacts) {
  const transactions = balanceTransactionId === undefined ? [] : [{ balanceTransactionId, createdAt }];
  return { kind: 'page' as const, transactions, hasMore: false, lastId: balanceTransactionId, at: undefined };
}

function pauseMs({ looks }: ClaimedPayout): number {
  return pausesMs[Math.min(looks, pausesMs.length) - 1] ?? onItsWayMs;
}
