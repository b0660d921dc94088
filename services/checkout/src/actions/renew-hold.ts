import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { canHoldAgain, mostRenewals } from '../domain/hold-renewal.ts';
import { awaitsLetters } from '../domain/letter.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { liveAttempts, type NewAttempt } from '../store/charge-attempts.ts';
import { findStatement, type HealthCardStatement } from '../store/health-card-statements.ts';
import { findRenewal, recordRenewal } from '../store/hold-renewals.ts';
import { findDecision } from '../store/intent-operations.ts';
import { findIntent } from '../store/payment-intents.ts';
import { type ChargeableCard, findChargeableCards } from '../store/session-payments.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { attemptAsCreated, beginAttempt } from './begin-attempt.ts';
import { carryOutAttempt } from './carry-out-attempt.ts';
import { endReviewWithHold } from './end-review-with-hold.ts';

/**
 * Authorizes a card again whose hold lapses before a review of its session has ended: an attempt of its own for the same amount, without the shopper. What
 * follows its outcome is `settleRenewal`. A card that cannot be charged without its owner, and a health card of an account that charges none any more, end the review with their
 * hold. Does nothing where the session does not wait for letters any more, or a renewal of the hold is unsettled. The caller holds no transaction.
 */
export async function renewHold(context: Context, scope: Scope, intent: PaymentIntent): Promise<void> {
  const begun = await withTx(context.database, scope, async (tx) => {
    const attempt = await begin(context, tx, scope, intent);
    await context.failpoint('renewal.before_begin_commit');
    return attempt;
  });
  await context.failpoint('renewal.begun');
  if (begun === undefined) return;
  await carryOutAttempt(context, scope, begun, performance.now() + context.budgets.callMs);
}

async function begin(
  context: Context,
  tx: Tx,
  scope: Scope,
  { id, sessionId }: PaymentIntent,
): Promise<ChargeAttempt | undefined> {
  const session = sessionId === null ? undefined : await lockSession(tx, scope, sessionId);
  if (session === undefined || !awaitsLetters(session)) return undefined;
  // What was decided before its session's row was locked.
  const [intent, decision, live] = await Promise.all([
    findIntent(tx, scope, id),
    findDecision(tx, scope, id),
    liveAttempts(tx, scope, ['session', 'renewal', 'renewed'], session.id),
  ]);
  const held = live.find(({ purpose, paymentIntentId }) => purpose === 'session' && paymentIntentId === id);
  if (intent?.status !== 'requires_capture' || decision !== undefined || held === undefined) return undefined;
  // A renewal of the hold is unsettled, or the hold before this one is not voided yet.
  if (live.some(({ purpose, leg }) => purpose !== 'session' && leg === held.leg)) return undefined;
  const [{ renewals, keepsCard }, cards] = await Promise.all([
    findRenewal(tx, scope, id),
    findChargeableCards(tx, scope, [held.paymentMethodId]),
  ]);
  const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
  const [card] = cards;
  const isRenewable = card !== undefined && canHoldAgain(card, held.leg, keepsCard) && renewals < mostRenewals;
  const isAllowed = scope.testMode || !mayBeHealthCard(held) || chargesHealthCards(await findStatement(tx, scope));
  // The gateway has told nothing yet: the next look decides.
  if (isRenewable && isAllowed === undefined) return undefined;
  if (!isRenewable || !isAllowed) {
    await endReviewWithHold(tx, scope, session, intent, { at, now: context.clock.now() });
    return undefined;
  }
  const attempt = renewalOf(context, held, card, at);
  const { invoiceId, subscriptionId } = intent;
  await beginAttempt(tx, scope, attempt, { sessionId, invoiceId, subscriptionId });
  await recordRenewal(tx, scope, attempt.paymentIntentId, { renews: id, renewals: renewals + 1, keepsCard });
  return attemptAsCreated(attempt);
}

function mayBeHealthCard({ leg, cardKind }: ChargeAttempt): boolean {
  return leg === 'health' && cardKind !== 'other';
}

// Whether the account stands by its statement (decisions 14.233), as far as it is known.
function chargesHealthCards(statement: HealthCardStatement | undefined): boolean | undefined {
  return statement && statement.substantiation !== null;
}

// The same card and amount, with what the processor was told of it.
function renewalOf({ budgets }: Context, held: ChargeAttempt, card: ChargeableCard, at: Date): NewAttempt {
  return {
    id: newId('charge_attempt'),
    purpose: 'renewal',
    subjectId: held.subjectId,
    leg: held.leg,
    driver: held.driver,
    eligibilityRecordId: null,
    paymentIntentId: newId('payment_intent'),
    customerId: held.customerId,
    paymentMethodId: card.id,
    processorAccount: held.processorAccount,
    processorPaymentMethodId: card.processorPaymentMethodId,
    processorCustomerId: card.processorCustomerId,
    offSession: true,
    threeDSecure: null,
    captureMethod: 'manual',
    amountCents: held.amountCents,
    healthcare: held.healthcare,
    cardKind: held.cardKind,
    expand: [],
    actingAt: at,
    operationId: null,
    leaseMs: budgets.leaseMs,
    confirmMs: budgets.confirmMs,
  };
}
