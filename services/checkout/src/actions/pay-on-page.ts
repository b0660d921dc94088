import { encodeEvent } from '@eligo/events';
import type { Scope } from '@eligo/postgres';
import { cents, minimumChargeCents, newId } from '@eligo/values';
import { callWindowMs } from '../charge-budgets.ts';
import type { Context } from '../context.ts';
import type { Address } from '../domain/address.ts';
import { type CardSlot, kindOfCard } from '../domain/card-kind.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import type { PaymentMethod } from '../domain/payment-method.ts';
import { type PlannedPayment, planPayment } from '../domain/payment-plan.ts';
import { splitVersionOf } from '../domain/repricing.ts';
import type { Session } from '../domain/session.ts';
import { refusalByDeclines } from '../domain/session-declines.ts';
import { takesTypedCards } from '../domain/typed-cards.ts';
import type { BegunPayment, PaidPage, TypedCard } from '../store/page-payments.ts';
import type { PaymentPlan } from '../store/payment-plans.ts';
import type { ChargeableCard } from '../store/session-payments.ts';
import { loadSession } from '../store/sessions.ts';
import { retrieveTypedCard, typedCard } from './adopt-page-card.ts';
import { attemptAsCreated, confirmTimeMs, newIntent } from './begin-attempt.ts';
import { carryOutBegun } from './carry-out-plan.ts';
import { attemptOf } from './charge-leg.ts';
import { payWithTwoCards } from './pay-with-two-cards.ts';
import { intentEvent } from './payment-events.ts';
import type { CardsOfShopper } from './shopper-cards.ts';

/**
 * Pays a session with cards that were just typed on its page, where nothing is unusual: one write begins the payment with its cards, its plan and its first
 * attempt, and where one card pays everything, one write completes it. Payments that come at the same time share both. Undefined, with nothing written, for
 * every other payment, and for those that are to be refused: `completeWithCards` decides them.
 */
export async function payOnPage(
  context: Context,
  scope: Scope,
  { session, lines }: PaidPage,
  given: CardsOfShopper,
): Promise<Session | undefined> {
  const deadlineMs = performance.now() + callWindowMs(context.budgets);
  const at = context.clock.now();
  if (!isPlain(context, scope, session, given, at)) return undefined;
  const payment = await begin(context, scope, session, given, at);
  if (payment === undefined) return undefined;
  const { plan, first, intent, cards } = payment;
  const address = given.shippingDetails;
  await context.failpoint('plan.attempt_begun');
  const attempt = attemptAsCreated(first.attempt);
  const claimed = { session: sessionAsBegun(session, address), intent, plan };
  const second = cards.find(({ method }) => method.id === plan.otherPaymentMethodId);
  const paid =
    attempt.captureMethod === 'automatic' || second === undefined
      ? await carryOutBegun(context, scope, { plan, attempt, claimed }, deadlineMs)
      : await payWithTwoCards(
          context,
          scope,
          { ...claimed, lines, attempt, second: chargeable(second.method) },
          deadlineMs,
        );
  return paid ?? loadSession(context.database, scope, session.id);
}

// Payments whose cards are read at the same time begin together.
async function begin(
  context: Context,
  scope: Scope,
  session: Session,
  given: CardsOfShopper,
  at: Date,
): Promise<Beginning | undefined> {
  const { pagePayments } = context.groups;
  pagePayments.expect(scope, session.id);
  try {
    const cards = await readCards(context, scope, session, given, at);
    const payment = cards && beginning(context, scope, { session, cards, given, at });
    if (payment === undefined) return undefined;
    const { first, intent } = payment;
    const event = encodeEvent(intentEvent(scope, 'payment_intent.created', intent, first.attempt.actingAt));
    const write = { ...payment, address: given.shippingDetails, events: [event] };
    return (await pagePayments.submit(scope, write)) ? payment : undefined;
  } finally {
    pagePayments.forget(scope, session.id);
  }
}

function isPlain(context: Context, scope: Scope, session: Session, given: CardsOfShopper, at: Date): boolean {
  const { paymentMethod: first, secondPaymentMethod: second, shownSplit, letterAnswers = null } = given;
  return (
    first !== undefined &&
    first !== second &&
    session.mode === 'payment' &&
    session.testClockId === null &&
    !session.letterRequired &&
    session.letterFeeStatus === null &&
    session.setupFutureUse === null &&
    letterAnswers === null &&
    session.amountTotalCents >= minimumChargeCents &&
    refusalByStatus(session, at) === undefined &&
    refusalByDeclines(session, 'page') === undefined &&
    takesTypedCards(session) &&
    (shownSplit === undefined || shownSplit === splitVersionOf(session, at)) &&
    context.processors.findOf(scope)?.isDown() === false
  );
}

// Undefined if one of them is no card that was typed here.
async function readCards(
  context: Context,
  scope: Scope,
  session: Session,
  { paymentMethod, slot, secondPaymentMethod, secondSlot }: CardsOfShopper,
  at: Date,
): Promise<TypedCard[] | undefined> {
  const wanted = [
    { id: paymentMethod, slot },
    { id: secondPaymentMethod, slot: secondSlot },
  ].flatMap(({ id, slot: own }) => (id === undefined ? [] : [{ id, slot: own }]));
  const read = await Promise.all(wanted.map(({ id, slot: own }) => readCard(context, scope, session, id, own, at)));
  const cards = read.flatMap((card) => card ?? []);
  return cards.length === wanted.length ? cards : undefined;
}

async function readCard(
  context: Context,
  scope: Scope,
  { id: sessionId }: Session,
  processorPaymentMethodId: string,
  slot: CardSlot | undefined,
  at: Date,
): Promise<TypedCard | undefined> {
  const processor = context.processors.of(scope);
  const found = await retrieveTypedCard(processor, processorPaymentMethodId);
  if (found.kind !== 'found' || !found.isUnused) return undefined;
  const given = { sessionId, testClockId: null, processorPaymentMethodId, loc: [], offSession: false };
  const method = await typedCard(context, scope, given, found, processor.account, at);
  const { hsaFsa } = method.card;
  // What a shopper says of a card is kept where nothing else is known of it.
  const said = { hsaFsa: slot === 'health', hsaFsaSource: 'shopper' as const };
  return {
    card: { processorPaymentMethodId, sessionId, invoiceId: null, paymentMethodId: method.id },
    method: hsaFsa === null && slot !== undefined ? { ...method, card: { ...method.card, ...said } } : method,
    kind: kindOfCard(hsaFsa, slot),
  };
}

type Beginning = BegunPayment & { readonly session: Session; readonly intent: ReturnType<typeof newIntent> };

function beginning(
  context: Context,
  scope: Scope,
  { session, cards, given, at }: { session: Session; cards: readonly TypedCard[]; given: CardsOfShopper; at: Date },
): Beginning | undefined {
  const { budgets, processors } = context;
  const planned = planPayment(
    {
      totalCents: session.amountTotalCents,
      eligibleCents: session.amountEligibleCents,
      letterRequired: false,
      manualCapture: session.captureMethod === 'manual',
      healthAccepted: given.refusesHealthCards !== true,
    },
    cards.map(({ method, kind }) => ({ paymentMethodId: method.id, kind })),
  );
  if (planned.kind !== 'pay' || planned.holdsOnly) return undefined;
  if (planned.healthCents > 0 && given.acceptsPart === true && processors.of(scope).asksForParts) return undefined;
  const leg = planned.healthCents > 0 ? 'health' : 'other';
  const card = cards.find(({ method }) => method.id === planned[leg]?.paymentMethodId);
  if (card === undefined) return undefined;
  const confirmMs = confirmTimeMs(budgets, session, at);
  const unlinked = planOf(session, planned, confirmMs, at);
  const { method } = card;
  const attempt = {
    ...attemptOf(unlinked, leg, session, chargeable(method)),
    ...{ processorAccount: method.processorAccount, leaseMs: budgets.leaseMs, confirmMs },
  };
  const linked = leg === 'health' ? { healthAttemptId: attempt.id } : { otherAttemptId: attempt.id };
  const { id: sessionId, invoiceId, subscriptionId } = session;
  const owners = { sessionId, invoiceId, subscriptionId };
  const plan = { ...unlinked, ...linked };
  return { session, cards, plan, first: { attempt, owners }, intent: newIntent(attempt, owners) };
}

function chargeable(method: PaymentMethod): ChargeableCard {
  return { ...method, hsaFsa: method.card.hsaFsa };
}

function planOf(
  { id: sessionId }: Session,
  planned: Extract<PlannedPayment, { kind: 'pay' }>,
  confirmLeftMs: number,
  actingAt: Date,
): PaymentPlan {
  return {
    ...{ id: newId('payment_plan'), sessionId, state: 'running', isLate: false, epoch: 1, actingAt, confirmLeftMs },
    ...{ healthCents: cents(planned.healthCents), otherCents: cents(planned.otherCents) },
    healthPaymentMethodId: planned.health?.paymentMethodId ?? null,
    otherPaymentMethodId: planned.other?.paymentMethodId ?? null,
    ...{ healthAttemptId: null, otherAttemptId: null, releaseAt: null, askedCents: null, releaseCause: null },
    ...{ holdsOnly: false, acceptsPart: false, eligibleOnly: false },
  };
}

// The address is saved with the payment's first write.
function sessionAsBegun(session: Session, address: Address | null): Session {
  return address === null ? session : { ...session, shippingDetails: address, version: session.version + 1n };
}
