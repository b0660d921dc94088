import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { cents, newId } from '@eligo/values';
import type { Charging } from '../charging.ts';
import type { Address } from '../domain/address.ts';
import { type CardSlot, kindOfCard } from '../domain/card-kind.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import { firstPeriodOf } from '../domain/first-renewal.ts';
import { planPayment, type ShopperCard } from '../domain/payment-plan.ts';
import type { Session } from '../domain/session.ts';
import { liveAttempts } from '../store/charge-attempts.ts';
import { takePaymentLocks } from '../store/payment-locks.ts';
import { noteShopperKinds } from '../store/payment-methods.ts';
import { insertPlan, lockLivePlan, type PaymentPlan, savePlan } from '../store/payment-plans.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { type ChargeableCard, findChargeableCards } from '../store/session-payments.ts';
import { loadSession, lockSession, saveSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { confirmTimeMs } from './begin-attempt.ts';
import { carryOutPlan } from './carry-out-plan.ts';
import { finishPaidSession } from './pay-session.ts';
import { setUpSession } from './set-up-session.ts';

/** What a shopper gives on the checkout page. */
export interface ShopperPayment {
  readonly sessionId: string;
  readonly paymentMethodIds: readonly string[];
  /** The slot of the page that each of them was put into, in the same order; undefined where nobody said. */
  readonly slots?: readonly (CardSlot | undefined)[];
  /** True where the account may charge no health cards: the other card then pays everything. */
  readonly refusesHealthCards?: boolean;
  readonly shippingDetails: Address | null;
}

/**
 * Pays a session with a shopper's cards: the health card for what is eligible, the other for the remainder (decisions 6). Answers with the session
 * as it then is: complete, or open with what must happen next; a declined card is not an error here. Throws a Failure when the session does
 * not take payments any more, and `lock_timeout` while another payment of it is in flight or the processor is known to be down.
 */
export async function completeSession(charging: Charging, scope: Scope, payment: ShopperPayment): Promise<Session> {
  const deadlineMs = performance.now() + charging.budgets.callMs + charging.budgets.lockMs;
  const before = await loadSession(charging.database, scope, payment.sessionId);
  if (before?.mode === 'setup') {
    return setUpSession(charging, scope, before, payment.paymentMethodIds[0], payment.slots?.[0]);
  }
  const plan = await withTx(charging.database, scope, (tx) => reserve(charging, tx, scope, payment), {
    lockTimeoutMs: charging.budgets.lockMs,
  });
  if (plan !== undefined) {
    await charging.failpoint('plan.reserved');
    await carryOutPlan(charging, scope, plan, deadlineMs);
  }
  const session = await loadSession(charging.database, scope, payment.sessionId);
  if (session === undefined) throw new Failure('checkout_session_not_found');
  return session;
}

// The plan to carry out, under a lease; undefined if the session needs no charge, or first needs another card.
async function reserve(
  charging: Charging,
  tx: Tx,
  scope: Scope,
  payment: ShopperPayment,
): Promise<PaymentPlan | undefined> {
  const found = await lockSession(tx, scope, payment.sessionId);
  if (found === undefined) throw new Failure('checkout_session_not_found');
  const at = await timeOnClock(tx, scope, charging.clock, found.testClockId);
  const refusal = refusalByStatus(found, at);
  if (refusal !== undefined) throw refusal;
  const { cards, customerId } = await findCards(tx, scope, payment);
  const session = await noteShopper(tx, scope, found, payment, customerId);
  const live = await lockLivePlan(tx, scope, session.id);
  if (live !== undefined) return addSecondCard(charging, tx, scope, session, live, cards, at);
  if ((await liveAttempts(tx, scope, 'session', session.id)).length > 0) {
    throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
  }
  return newPlan(charging, tx, scope, session, { cards, healthAccepted: payment.refusesHealthCards !== true }, at);
}

// The cards in the order given, and the first one's customer. What the shopper says of a card that nobody else knows is kept with it.
async function findCards(
  tx: Tx,
  scope: Scope,
  { paymentMethodIds: ids, slots = [] }: ShopperPayment,
): Promise<{ cards: ShopperCard[]; customerId: string | null }> {
  const found = await findChargeableCards(tx, scope, ids);
  const cards = ids.map((id, index) => {
    const card = found.find((candidate) => candidate.id === id);
    if (card === undefined) {
      const field = index === 0 ? 'payment_method' : 'second_payment_method';
      throw Failure.invalid(
        ['body', 'checkout_session', field],
        'payment_method_not_found',
        `payment_method_not_found: ${id}`,
      );
    }
    return { paymentMethodId: id, kind: kindOfCard(card.hsaFsa, slots[index]) };
  });
  await noteSlots(tx, scope, ids, slots, found);
  return { cards, customerId: found.find((card) => card.id === ids[0])?.customerId ?? null };
}

// What a shopper says of a card is kept where nothing else is known of it.
async function noteSlots(
  tx: Tx,
  scope: Scope,
  ids: readonly string[],
  slots: readonly (CardSlot | undefined)[],
  found: readonly ChargeableCard[],
): Promise<void> {
  const said = new Map<string, boolean>();
  for (const [index, id] of ids.entries()) {
    const slot = slots[index];
    if (slot === undefined || found.find((card) => card.id === id)?.hsaFsa !== null) continue;
    said.set(id, slot === 'health' || said.get(id) === true);
  }
  if (said.size > 0) await noteShopperKinds(tx, scope, said);
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
  charging: Charging,
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
  if (other === undefined) return undefined;
  refuseWhileDown(charging, scope);
  await lockCards(charging, tx, scope, plan.id, [other]);
  return savePlan(
    tx,
    scope,
    { ...plan, state: 'running', otherPaymentMethodId: other.paymentMethodId, releaseAt: null, actingAt: at },
    charging.budgets.leaseMs,
    confirmTimeMs(charging.budgets, session, at),
  );
}

async function newPlan(
  charging: Charging,
  tx: Tx,
  scope: Scope,
  session: Session,
  { cards, healthAccepted }: { readonly cards: readonly ShopperCard[]; readonly healthAccepted: boolean },
  at: Date,
): Promise<PaymentPlan | undefined> {
  const dueNow = (await startsWithTrial(tx, scope, session, at)) ? cents(0) : session.amountTotalCents;
  const planned = planPayment(
    {
      totalCents: dueNow,
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
    const url = session.details.redirectUrl;
    await saveSession(tx, scope, session, {
      ...session,
      nextAction: {
        type: 'provide_alternative_payment_method',
        message: otherCardMessage(cards, healthAccepted),
        ...(url === undefined ? {} : { url }),
      },
    });
    return undefined;
  }
  refuseWhileDown(charging, scope);
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
    releaseAt: null,
    epoch: 1,
    actingAt: at,
    confirmLeftMs: confirmTimeMs(charging.budgets, session, at),
  };
  await insertPlan(tx, scope, plan, charging.budgets.leaseMs);
  await lockCards(charging, tx, scope, plan.id, cards);
  return plan;
}

function otherCardMessage(cards: readonly ShopperCard[], healthAccepted: boolean): string {
  if (cards.some(({ kind }) => kind === 'unknown')) {
    return 'Say whether this card is an HSA or FSA card, or use another card.';
  }
  return healthAccepted
    ? 'Nothing in this order is eligible for a health card. Use another card.'
    : 'This shop does not take HSA and FSA cards. Use another card.';
}

// Known to be down, or not there at all: said before a row is written, and not to a session that needs no charge.
function refuseWhileDown(charging: Charging, scope: Scope): void {
  if (charging.processors.of(scope).isDown()) throw new Failure('lock_timeout', { retryAfterSeconds: 5 });
}

async function startsWithTrial(tx: Tx, scope: Scope, session: Session, at: Date): Promise<boolean> {
  if (session.mode !== 'subscription') return false;
  const period = firstPeriodOf(session, await loadSessionLines(tx, scope, session.id), at);
  return period !== undefined && period.trialEnd !== null;
}

async function lockCards(
  charging: Charging,
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
      leaseMs: charging.budgets.leaseMs,
    });
    if (!locked) throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
  }
}
