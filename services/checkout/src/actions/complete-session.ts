import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { type Cents, cents, dollars, given, minimumChargeCents, newId } from '@eligo/values';
import { callWindowMs } from '../charge-budgets.ts';
import type { Context } from '../context.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import { planPayment, refuseSecondHealthCard, type ShopperCard, withOtherCard } from '../domain/payment-plan.ts';
import { splitVersionOf } from '../domain/repricing.ts';
import { type NextAction, type Session, takesHealthCards } from '../domain/session.ts';
import { declineSourceOf, refusalByDeclines } from '../domain/session-declines.ts';
import { planTrialCards, type TrialRenewal } from '../domain/trial-cards.ts';
import { liveAttempts } from '../store/charge-attempts.ts';
import { takePaymentLocks } from '../store/payment-locks.ts';
import { insertPlan, lockLivePlan, type PaymentPlan, savePlan } from '../store/payment-plans.ts';
import { loadSession, lockSession, saveSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { confirmTimeMs } from './begin-attempt.ts';
import { carryOutPlan } from './carry-out-plan.ts';
import { finishPaidSession } from './pay-session.ts';
import { requireCustomer } from './require-customer.ts';
import { setUpGivenCards } from './set-up-given-cards.ts';
import { loadTrialRenewal, setUpTrialCards } from './set-up-trial-cards.ts';
import { findCards, type ShopperPayment } from './shopper-cards.ts';

/**
 * Pays a session with a shopper's cards: the health card for what is eligible, the other for the remainder (decisions 6). Answers with the session
 * as it then is: complete, or open with what must happen next; a declined card is not an error here. Throws a Failure when the session does
 * not take payments any more, and `lock_timeout` while another payment of it is in flight or the processor is known to be down.
 */
export async function completeSession(context: Context, scope: Scope, asked: ShopperPayment): Promise<Session> {
  const deadlineMs = performance.now() + callWindowMs(context.budgets);
  const before = await loadSession(context.database, scope, asked.sessionId);
  if (before?.status === 'open') {
    const at = await timeOnClock(context.database, scope, context.clock, before.testClockId);
    refuseOtherAmounts(before, asked, at);
  }
  if (before?.mode === 'setup') return setUpGivenCards(context, scope, before, asked);
  const trial = before && (await setUpTrialCards(context, scope, before, asked));
  if (trial?.kind === 'refused') return trial.session;
  const payment = trial?.payment ?? asked;
  const plan = await withTx(
    context.database,
    scope,
    (tx) => reserve(context, tx, scope, payment, trial?.cardIds ?? new Set()),
    { lockTimeoutMs: context.budgets.lockMs },
  );
  if (plan !== undefined) {
    await context.failpoint('plan.reserved');
    await carryOutPlan(context, scope, plan, deadlineMs);
  }
  const session = await loadSession(context.database, scope, payment.sessionId);
  if (session === undefined) throw new Failure('checkout_session_not_found');
  return session;
}

// The plan to carry out, under a lease; undefined if the session needs no charge, or first needs another card.
async function reserve(
  context: Context,
  tx: Tx,
  scope: Scope,
  payment: ShopperPayment,
  setUp: ReadonlySet<string>,
): Promise<PaymentPlan | undefined> {
  const found = await lockSession(tx, scope, payment.sessionId);
  if (found === undefined) throw new Failure('checkout_session_not_found');
  const at = await timeOnClock(tx, scope, context.clock, found.testClockId);
  const renewal = await loadTrialRenewal(tx, scope, found, at);
  // A trial whose cards are set up asks no bank, so the declines of its session do not refuse it.
  const isSetUp = renewal !== undefined && setUp.size > 0;
  const refusal =
    refusalByStatus(found, at) ?? (isSetUp ? undefined : refusalByDeclines(found, declineSourceOf(found)));
  if (refusal !== undefined) throw refusal;
  await requireCustomer(tx, scope, found);
  refuseOtherAmounts(found, payment, at);
  const { cards, customerId } = await findCards(context, tx, scope, payment);
  const session = await noteShopper(tx, scope, found, payment, customerId);
  const live = await lockLivePlan(tx, scope, session.id);
  if (live !== undefined) return addSecondCard(context, tx, scope, session, live, cards, at);
  if ((await liveAttempts(tx, scope, 'session', session.id)).length > 0) {
    throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
  }
  const offered = {
    ...{ cards, healthAccepted: payment.refusesHealthCards !== true && takesHealthCards(session) },
    acceptsPart: payment.acceptsPart === true && context.processors.of(scope).asksForParts,
  };
  if (renewal === undefined) return newPlan(context, tx, scope, session, offered, at);
  await beginTrial(tx, scope, session, { ...offered, renewal, setUp }, at);
  return undefined;
}

// A promo code that was entered or removed in another tab changes what the shopper has seen, and so does the end of a trial.
function refuseOtherAmounts(session: Session, { shownSplit }: ShopperPayment, at: Date): void {
  if (shownSplit === undefined || shownSplit === splitVersionOf(session, at)) return;
  throw new Failure('checkout_session_amount_changed');
}

// What the shopper filled in. A subscription belongs to a customer: before anything is charged it has one, the card's where the shop named
// none, and the ids under which billing will make it.
async function noteShopper(
  tx: Tx,
  scope: Scope,
  session: Session,
  payment: ShopperPayment,
  cardCustomerId: string | null,
): Promise<Session> {
  const address = payment.shippingDetails === null ? {} : { shippingDetails: payment.shippingDetails };
  if (session.mode !== 'subscription') return saveSession(tx, scope, session, { ...session, ...address });
  const customerId = session.customerId ?? cardCustomerId;
  if (customerId === null) throw new Failure('customer_required');
  return saveSession(tx, scope, session, {
    ...session,
    ...address,
    customerId,
    // The card that it renews with, also where a trial begins and none is charged.
    paymentMethodId: payment.paymentMethodIds[0] ?? session.paymentMethodId,
    subscriptionId: session.subscriptionId ?? newId('subscription'),
    invoiceId: session.invoiceId ?? newId('invoice'),
  });
}

async function addSecondCard(
  context: Context,
  tx: Tx,
  scope: Scope,
  session: Session,
  live: { plan: PaymentPlan; leaseLive: boolean },
  cards: readonly ShopperCard[],
  at: Date,
): Promise<PaymentPlan | undefined> {
  const { plan } = live;
  if (plan.state !== 'awaiting_second_card') throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
  const other = cards.find(({ kind }) => kind === 'other');
  if (other === undefined) {
    // The first request again, by the same payment method: it gave nothing else. Any other card may be a health card, and one of those pays already.
    if (cards.every(({ paymentMethodId: id }) => id === plan.healthPaymentMethodId)) return undefined;
    throw new Failure('other_payment_method_required');
  }
  refuseWhileDown(context, scope);
  await lockCards(context, tx, scope, plan.id, [other]);
  const next = withOtherCard(plan, other.paymentMethodId, at);
  return savePlan(tx, scope, next, context.budgets.leaseMs, confirmTimeMs(context.budgets, session, at));
}

interface Offered {
  readonly cards: readonly ShopperCard[];
  readonly healthAccepted: boolean;
  /** The health card may be approved for a part. */
  readonly acceptsPart: boolean;
}

async function newPlan(
  context: Context,
  tx: Tx,
  scope: Scope,
  session: Session,
  { cards, healthAccepted, acceptsPart }: Offered,
  at: Date,
): Promise<PaymentPlan | undefined> {
  const planned = planPayment(
    {
      totalCents: session.amountTotalCents,
      eligibleCents: session.amountEligibleCents,
      letterRequired: session.letterRequired,
      manualCapture: session.captureMethod === 'manual',
      healthAccepted,
    },
    cards,
  );
  if (planned.kind === 'nothing') {
    const after: Session = { ...session, status: 'complete', completedAt: at, nextAction: null };
    await finishPaidSession(tx, scope, { session, after, intent: undefined, at });
    return undefined;
  }
  if (planned.kind === 'other_card_needed') {
    const nextAction = otherCardNeeded(session, cards, healthAccepted, {
      ...{ totalCents: session.amountTotalCents, eligibleCents: session.amountEligibleCents },
    });
    await saveSession(tx, scope, session, { ...session, nextAction });
    return undefined;
  }
  refuseSecondHealthCard(planned, cards);
  refuseWhileDown(context, scope);
  const plan: PaymentPlan = {
    id: newId('payment_plan'),
    sessionId: session.id,
    state: 'running',
    healthCents: planned.healthCents,
    otherCents: planned.otherCents,
    healthPaymentMethodId: planned.health?.paymentMethodId ?? null,
    otherPaymentMethodId: planned.kind === 'pay' ? (planned.other?.paymentMethodId ?? null) : null,
    healthAttemptId: null,
    otherAttemptId: null,
    holdsOnly: planned.holdsOnly,
    acceptsPart: acceptsPart && planned.healthCents > 0,
    eligibleOnly: false,
    askedCents: null,
    releaseCause: null,
    releaseAt: null,
    isLate: false,
    epoch: 1,
    actingAt: at,
    confirmLeftMs: confirmTimeMs(context.budgets, session, at),
  };
  await insertPlan(tx, scope, plan, context.budgets.leaseMs);
  await lockCards(context, tx, scope, plan.id, cards);
  return plan;
}

// Completes the session with the cards that were set up for it, unless the first renewal needs another one. The health card renews it, and the other card
// is its backup.
async function beginTrial(
  tx: Tx,
  scope: Scope,
  session: Session,
  offered: {
    readonly cards: readonly ShopperCard[];
    readonly healthAccepted: boolean;
    readonly renewal: TrialRenewal;
    readonly setUp: ReadonlySet<string>;
  },
  at: Date,
): Promise<void> {
  const planned = planTrialCards(offered.renewal, offered.healthAccepted, offered.cards);
  if (planned.kind === 'other_card_needed') {
    const { cards, healthAccepted, renewal } = offered;
    const nextAction = otherCardNeeded(session, cards, healthAccepted, renewal);
    await saveSession(tx, scope, session, { ...session, nextAction });
    return;
  }
  const backup = planned.kind === 'keep' ? planned.backup : undefined;
  // The set-up of a card may tell that it is of another kind: the next request goes by that.
  for (const card of [planned.standard, backup]) {
    if (card !== undefined && !offered.setUp.has(card.paymentMethodId)) {
      throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
    }
  }
  if (planned.kind === 'second_card_needed') {
    await saveSession(tx, scope, session, { ...session, nextAction: secondCardNeeded(session, planned) });
    return;
  }
  const paymentMethodId = planned.standard?.paymentMethodId ?? session.paymentMethodId;
  const after: Session = { ...session, paymentMethodId, status: 'complete', completedAt: at, nextAction: null };
  const backupPaymentMethodId = backup?.paymentMethodId;
  await finishPaidSession(tx, scope, { session, after, intent: undefined, at, backupPaymentMethodId });
}

function secondCardNeeded(
  session: Session,
  planned: { readonly standard: ShopperCard; readonly healthCents: Cents; readonly otherCents: Cents },
): NextAction {
  return {
    type: 'provide_second_payment_method',
    message:
      planned.standard.kind === 'unknown'
        ? 'Say whether this card is an HSA or FSA card, or add a second payment method for the amount that is not eligible after the trial.'
        : 'A second payment method is required for the amount that is not eligible after the trial.',
    ...given({ url: session.details.redirectUrl }),
    eligibleAmountCents: planned.healthCents,
    ineligibleAmountCents: planned.otherCents,
  };
}

function otherCardNeeded(
  session: Session,
  cards: readonly ShopperCard[],
  healthAccepted: boolean,
  due: TrialRenewal,
): NextAction {
  return {
    type: 'provide_alternative_payment_method',
    message: takesHealthCards(session) ? otherCardMessage(cards, healthAccepted, due) : reimbursementMessage,
    ...given({ url: session.details.redirectUrl }),
  };
}

const reimbursementMessage =
  'This order is paid with a credit or debit card, and its receipt is for your HSA or FSA plan. Use another card.';

function otherCardMessage(
  cards: readonly ShopperCard[],
  healthAccepted: boolean,
  { totalCents, eligibleCents }: TrialRenewal,
): string {
  if (cards.length === 0) return 'A card is required.';
  if (cards.some(({ kind }) => kind === 'unknown')) {
    return 'Say whether this card is an HSA or FSA card, or use another card.';
  }
  if (!healthAccepted) return 'This shop does not take HSA and FSA cards. Use another card.';
  if (eligibleCents === 0) return 'Nothing in this order is eligible for a health card. Use another card.';
  const least = dollars(minimumChargeCents);
  return eligibleCents < minimumChargeCents
    ? `Only ${dollars(eligibleCents)} of this order is eligible for a health card, and no card can be charged less than ${least}. Pay the whole order with another card.`
    : `All but ${dollars(cents(totalCents - eligibleCents))} of this order is eligible for a health card, and no card can be charged less than ${least}. Pay the whole order with another card.`;
}

// Known to be down, or not there at all: said before a row is written, and not to a session that needs no charge.
function refuseWhileDown(context: Context, scope: Scope): void {
  if (context.processors.of(scope).isDown()) throw new Failure('lock_timeout', { retryAfterSeconds: 5 });
}

async function lockCards(
  context: Context,
  tx: Tx,
  scope: Scope,
  planId: string,
  cards: readonly ShopperCard[],
): Promise<void> {
  // In one order, so that two pages with the same two cards cannot each hold one of them.
  for (const id of [...new Set(cards.map((card) => card.paymentMethodId))].sort()) {
    const locked = await takePaymentLocks(tx, scope, {
      attemptId: planId,
      customerId: null,
      paymentMethodId: id,
      leaseMs: context.budgets.leaseMs,
    });
    if (!locked) throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
  }
}
