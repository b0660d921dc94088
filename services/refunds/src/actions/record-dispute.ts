import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { DisputeFacts, DisputeOutcome } from '@eligo/processor';
import type { ChargeAtProcessor } from '@eligo/proto/checkout/v1/checkout';
import { evidenceFileFields, newId, sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import { type Dispute, type DisputeClaim, disputeNews } from '../domain/dispute.ts';
import { disputeStates, disputeStatusOf, heldByDispute, isClosed } from '../domain/dispute-states.ts';
import type { Look } from '../domain/look.ts';
import { pauseOfDisputeMs, pauseWhileUnknownMs } from '../domain/pauses.ts';
import { storeMovements } from '../store/dispute-movements.ts';
import { forgetDispute, lockDispute, postponeDispute, saveDispute } from '../store/disputes.ts';
import { filesAtProcessor } from '../store/evidence-files.ts';
import { insertBalanceTransaction } from '../store/money.ts';
import { appendDisputeEvents } from './dispute-events.ts';

/**
 * Records what the processor has of a dispute that this process has claimed: first at checkout, which holds the money and answers the charge, then here,
 * with the events that tell how it differs from before. Safe to stop at any point: the next look does it again, and each part counts once. With `tellWithinMs`, for
 * a request whose change the processor has carried out, checkout is told by a look soon if it does not answer in that time.
 */
export async function recordDispute(
  context: Context,
  scope: Scope,
  claimed: DisputeClaim,
  facts: DisputeOutcome,
  tellWithinMs?: () => number,
): Promise<Look> {
  if (facts.kind !== 'found') {
    const inMs = facts.kind === 'not_now' ? facts.retryAfterMs : pauseWhileUnknownMs(claimed.checks);
    await withTx(context.database, scope, (tx) => postponeDispute(tx, scope, claimed, inMs));
    return { kind: 'later', inMs };
  }
  const charge = await tellCheckout(context, scope, claimed, facts, tellWithinMs);
  if (charge === undefined) {
    await withTx(context.database, scope, (tx) => forgetDispute(tx, scope, claimed));
    return { kind: 'not_ours' };
  }
  await context.failpoint('dispute.after_tell');
  const found = disputeOf(context, scope, claimed, facts, charge);
  const isSaved = await withTx(context.database, scope, async (tx) => {
    const before = await lockDispute(tx, scope, claimed.disputeId);
    const hasMoved = before?.status !== found.status;
    const checks = hasMoved ? 0 : claimed.checks;
    const pauseMs = charge === untold ? tellAgainMs : pauseOfDisputeMs(checks, isClosed(found.status));
    const ours = { ...found, evidence: await withOurFiles(tx, scope, found) };
    // The events tell what is stored: the customer may have been erased since this transaction began.
    const after = await saveDispute(tx, scope, { ...claimed, checks: hasMoved ? -1 : checks }, ours, pauseMs);
    if (after === undefined) return false;
    const moved = await storeMovements(
      tx,
      scope,
      claimed.disputeId,
      facts.movements.map(({ balanceTransactionId, amountCents, feeCents }) => ({
        processorBalanceTransactionId: balanceTransactionId,
        balanceTransactionId: newId('balance_transaction'),
        ...{ amountCents, feeCents },
      })),
    );
    for (const { balanceTransactionId, amountCents, feeCents } of moved) {
      await insertBalanceTransaction(tx, scope, {
        ...{ balanceTransactionId, amountCents, feeCents, status: 'available', at: new Date() },
        type: amountCents < 0 ? 'dispute' : 'dispute_reversal',
        sourceId: claimed.disputeId,
        checkoutSessionId: after.checkoutSessionId,
      });
    }
    const current: Dispute = {
      ...after,
      metadata: before?.metadata ?? {},
      balanceTransactionIds: [
        ...(before?.balanceTransactionIds ?? []),
        ...moved.map(({ balanceTransactionId }) => balanceTransactionId),
      ],
    };
    const news = disputeNews(before, current, {
      isWithdrawn: moved.some(({ amountCents }) => amountCents < 0),
      isReinstated: moved.some(({ amountCents }) => amountCents > 0),
    });
    await appendDisputeEvents(tx, scope, news, current);
    return true;
  });
  await context.failpoint('dispute.after_record');
  // A later look was begun meanwhile, by another process: it sees what this one saw, or more.
  return isSaved ? { kind: 'recorded' } : { kind: 'later' };
}

// Files by our names for them. A file that was given elsewhere, such as on the processor's own pages, is left out.
async function withOurFiles(tx: Tx, scope: Scope, { disputeId, evidence }: Dispute): Promise<Dispute['evidence']> {
  const atProcessor = evidenceFileFields.flatMap((field) => evidence[field] ?? []);
  const ours = await filesAtProcessor(tx, scope, disputeId, atProcessor);
  const entries = Object.entries(evidence).flatMap(([field, value]): [string, string][] => {
    const shown = evidenceFileFields.includes(field) ? ours.get(value) : value;
    return shown === undefined ? [] : [[field, shown]];
  });
  return Object.fromEntries(entries);
}

const untold = 'untold';
const tellAgainMs = 1_000;

// Undefined for a dispute of a charge that is not ours.
async function tellCheckout(
  context: Context,
  scope: Scope,
  claimed: DisputeClaim,
  facts: DisputeFacts,
  tellWithinMs: (() => number) | undefined,
): Promise<ChargeAtProcessor | typeof untold | undefined> {
  if (facts.intentId === undefined) return undefined;
  const movedCents = sumCents(facts.movements.map(({ amountCents }) => amountCents));
  const { status } = disputeStatusOf(facts.status);
  try {
    const told = await context.checkout.recordDispute(
      {
        disputeId: claimed.disputeId,
        processorIntentId: facts.intentId,
        amountCents: BigInt(facts.amountCents),
        heldCents: BigInt(heldByDispute(status, facts.amountCents, movedCents)),
        seq: claimed.epoch,
      },
      { ...context.callFor(scope, []), timeoutMs: Math.min(context.budgets.checkoutMs, tellWithinMs?.() ?? Infinity) },
    );
    if (told.isBeyondReceived && claimed.before?.status !== status) {
      context.logger.warn({ disputeId: claimed.disputeId }, 'Dispute withholds an amount that was already refunded');
      context.countDisputeBeyondReceived();
    }
    return told.charge;
  } catch (error) {
    if (error instanceof Failure && error.code === 'charge_not_found') return undefined;
    if (tellWithinMs !== undefined && claimed.before !== undefined && error instanceof Failure) return untold;
    await withTx(context.database, scope, (tx) =>
      postponeDispute(tx, scope, claimed, pauseWhileUnknownMs(claimed.checks)),
    );
    throw error;
  }
}

function disputeOf(
  context: Context,
  scope: Scope,
  { disputeId, before }: DisputeClaim,
  facts: DisputeFacts,
  charge: ChargeAtProcessor | typeof untold,
): Dispute {
  const { status, isKnown } = disputeStatusOf(facts.status);
  if (!isKnown && before?.processorStatus !== facts.status) {
    context.logger.warn(
      { disputeId, code: facts.status },
      'Processor reports an unknown dispute status; shown as under_review',
    );
  }
  const canMove = before === undefined || before.status === status || disputeStates.canMove(before.status, status);
  if (!canMove && before.processorStatus !== facts.status) {
    context.logger.warn(
      { disputeId, code: facts.status },
      'Processor moved a dispute to a status that it cannot have; kept the status',
    );
  }
  return {
    ...{ disputeId, status: canMove ? status : before.status, processorStatus: facts.status, reason: facts.reason },
    ...{ amountCents: facts.amountCents, currency: facts.currency },
    ...(charge === untold ? chargeOf(before) : placeOf(charge)),
    ...{ evidence: facts.evidence, hasEvidence: facts.hasEvidence, submissionCount: facts.submissionCount },
    dueBy: facts.dueBy === undefined ? null : new Date(facts.dueBy * 1_000),
    metadata: before?.metadata ?? {},
    createdAt: facts.createdAt,
    balanceTransactionIds: before?.balanceTransactionIds ?? [],
    testMode: scope.testMode,
  };
}

function placeOf({ paymentIntentId, chargeId, checkoutSessionId }: ChargeAtProcessor): ChargeOfDispute {
  return { paymentIntentId, chargeId, checkoutSessionId: checkoutSessionId ?? null };
}

// A dispute stays with its charge.
function chargeOf(before: Dispute | undefined): ChargeOfDispute {
  if (before === undefined) throw new Error('A dispute that was never recorded has no charge');
  const { paymentIntentId, chargeId, checkoutSessionId } = before;
  return { paymentIntentId, chargeId, checkoutSessionId };
}

type ChargeOfDispute = Pick<Dispute, 'paymentIntentId' | 'chargeId' | 'checkoutSessionId'>;
