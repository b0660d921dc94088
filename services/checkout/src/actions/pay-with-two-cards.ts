import { encodeEvent, type NewEvent } from '@eligo/events';
import type { Scope } from '@eligo/postgres';
import { newId, sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import { allHeld, allocateCapture } from '../domain/capture-allocation.ts';
import type { ChargeAttempt, ProcessorVerdict } from '../domain/charge-attempt.ts';
import { holdTimeOf } from '../domain/hold.ts';
import { paidLines } from '../domain/paid-lines.ts';
import type { Charge, PaymentIntent } from '../domain/payment-intent.ts';
import type { Session, SessionLine } from '../domain/session.ts';
import type { NewCapture } from '../store/captures.ts';
import type { IntentOperation } from '../store/intent-operations.ts';
import type { PaymentPlan } from '../store/payment-plans.ts';
import type { ChargeableCard } from '../store/session-payments.ts';
import { attemptAsCreated, confirmTimeMs, newIntent } from './begin-attempt.ts';
import { carryOutAttempt } from './carry-out-attempt.ts';
import { carryOutPlan, releasePlan } from './carry-out-plan.ts';
import { attemptOf } from './charge-leg.ts';
import { finishHold } from './finish-hold.ts';
import { receiveForSession } from './pay-session.ts';
import { chargeEvent, intentEvent, newCharge } from './payment-events.ts';
import { capturedHold } from './settle-captured.ts';
import { confirmedMethod } from './settle-confirmed.ts';

/** A payment with two cards whose first write is done: the health card's attempt has begun. */
export interface BegunWithTwoCards {
  readonly session: Session;
  readonly lines: readonly SessionLine[];
  readonly plan: PaymentPlan;
  readonly attempt: ChargeAttempt;
  readonly intent: PaymentIntent;
  /** The card that pays the remainder. */
  readonly second: ChargeableCard;
}

type Success = Extract<ProcessorVerdict, { kind: 'succeeded' }>;

/** A card that has paid, or whose hold is to be captured. */
interface PaidCard {
  readonly session: Session;
  readonly attempt: ChargeAttempt;
  readonly intent: PaymentIntent;
  readonly charge: Charge;
}

/**
 * Holds the health card, charges the other one and captures the hold, with a write for each, which payments that come at the same time share: the first also
 * begins the second card's attempt, the second also requests the capture, and the third also ends the plan. What is unusual is decided from the rows, by
 * `carryOutPlan`. Returns the session once it is paid. The caller holds the leases.
 */
export async function payWithTwoCards(
  context: Context,
  scope: Scope,
  begun: BegunWithTwoCards,
  deadlineMs: number,
): Promise<Session | undefined> {
  const beganMs = performance.now();
  const { session, intent } = begun;
  let { plan } = begun;
  let held: (PaidCard & { readonly next: SecondCharge }) | undefined;
  let charged: (PaidCard & { readonly capture: RequestedCapture }) | undefined;
  let paid: Session | undefined;
  // Where there is next to no time for another call, the plan waits for the sweeper.
  const canGoOn = () => deadlineMs - performance.now() > context.budgets.callMs / 20;
  try {
    const first = await carryOutAttempt(context, scope, begun.attempt, deadlineMs, {
      ...{ session, intent, settlements: context.groups.heldFirst },
      async settle(attempt, verdict) {
        if (!canGoOn()) return undefined;
        held = await holdFirst(context, scope, begun, { attempt, verdict, spentMs: performance.now() - beganMs });
        return held;
      },
    });
    if (first === undefined) return await releasePlan(context, scope, plan);
    if (held !== undefined) {
      const { next } = held;
      const onHold = held;
      plan = { ...plan, otherAttemptId: next.attempt.id };
      await context.failpoint('plan.attempt_begun');
      const second = await carryOutAttempt(context, scope, next.attempt, deadlineMs, {
        ...{ session: onHold.session, intent: next.intent, settlements: context.groups.chargedSecond },
        async settle(attempt, verdict) {
          if (!canGoOn()) return undefined;
          charged = await chargeSecond(context, scope, { ...begun, plan }, onHold, { attempt, verdict });
          return charged;
        },
      });
      if (second === undefined) return await releasePlan(context, scope, plan);
      if (charged !== undefined) {
        const other = charged;
        await context.failpoint('plan.hold_decided');
        await finishHold(context, scope, other.capture.operation, Math.max(deadlineMs - performance.now(), 0), {
          processorAccount: onHold.attempt.processorAccount,
          settlements: context.groups.capturesOnPage,
          async settle() {
            paid = await captureFirst(context, scope, plan, onHold, other);
            return paid !== undefined;
          },
        });
      }
    }
  } catch (error) {
    await releasePlan(context, scope, plan);
    throw error;
  }
  if (paid === undefined) await carryOutPlan(context, scope, plan, deadlineMs);
  return paid;
}

interface SecondCharge {
  readonly attempt: ChargeAttempt;
  readonly intent: PaymentIntent;
}

async function holdFirst(
  context: Context,
  scope: Scope,
  { session: before, intent: begunIntent, plan, second: card }: BegunWithTwoCards,
  { attempt, verdict, spentMs }: { attempt: ChargeAttempt; verdict: Success; spentMs: number },
): Promise<(PaidCard & { readonly next: SecondCharge }) | undefined> {
  if (!verdict.capturable || verdict.partCents !== undefined) return undefined;
  const { budgets, clock } = context;
  const now = clock.now();
  const { actingAt: at } = attempt;
  const reported = { chargeId: newId('charge'), processorChargeId: verdict.chargeId, at };
  const hold = holdTimeOf(verdict.captureBefore, now, attempt.offSession);
  const intent: PaymentIntent = {
    ...begunIntent,
    ...{
      status: 'requires_capture',
      amountCapturableCents: begunIntent.amountCents,
      captureBefore: hold.captureBefore,
    },
    ...{ latestChargeId: reported.chargeId, processorIntentId: attempt.processorIntentId },
  };
  const charge = newCharge(intent, reported.chargeId, at);
  const session = { ...receiveForSession(before, intent, true), version: before.version + 1n };
  const confirmMs = Math.min(plan.confirmLeftMs - spentMs, confirmTimeMs(budgets, before, now));
  if (confirmMs <= 0) return undefined;
  const { id: sessionId, invoiceId, subscriptionId } = before;
  const owners = { sessionId, invoiceId, subscriptionId };
  const next = {
    ...attemptOf(plan, 'other', before, card),
    ...{ processorAccount: attempt.processorAccount, leaseMs: budgets.leaseMs, confirmMs },
  };
  const nextIntent = newIntent(next, owners);
  const events: NewEvent[] = [
    chargeEvent(scope, 'charge.succeeded', charge, at),
    intentEvent(scope, 'payment_intent.created', nextIntent, next.actingAt),
  ];
  const isWritten = await context.groups.heldFirst.submit(scope, {
    ...{ before, after: session, plan, attempt, charge: reported, hold, second: { attempt: next, owners } },
    method: confirmedMethod(attempt, verdict),
    events: events.map(encodeEvent),
  });
  if (!isWritten) return undefined;
  const settled = { ...attempt, status: 'succeeded' as const };
  return { session, attempt: settled, intent, charge, next: { attempt: attemptAsCreated(next), intent: nextIntent } };
}

interface RequestedCapture {
  readonly capture: NewCapture;
  readonly operation: IntentOperation;
}

async function chargeSecond(
  context: Context,
  scope: Scope,
  { plan, lines }: BegunWithTwoCards,
  held: PaidCard & { readonly next: SecondCharge },
  { attempt, verdict }: { attempt: ChargeAttempt; verdict: Success },
): Promise<(PaidCard & { readonly capture: RequestedCapture }) | undefined> {
  if (verdict.capturable) return undefined;
  const { session: before, next } = held;
  const { actingAt: at } = attempt;
  const reported = { chargeId: newId('charge'), processorChargeId: verdict.chargeId, at };
  const intent: PaymentIntent = {
    ...next.intent,
    ...{ status: 'succeeded', amountReceivedCents: next.intent.amountCents, latestChargeId: reported.chargeId },
    processorIntentId: attempt.processorIntentId,
  };
  const charge = newCharge(intent, reported.chargeId, at);
  const after = { ...receiveForSession(before, intent, false), version: before.version + 1n };
  const isPaid = (line: SessionLine) => line.amountEligibleCents === 0 && line.amountTotalCents > 0;
  const taken = lines.filter(isPaid);
  const allocation = allocateCapture(
    {
      session: after,
      lines: lines.map((line) => (isPaid(line) ? { ...line, amountCapturedCents: line.amountTotalCents } : line)),
      intents: [held.intent],
      tenders: [],
      captured: {
        tax: sumCents(taken.map((line) => line.amountTaxCents)),
        shipping: sumCents(taken.map((line) => line.amountShippingCents)),
        discount: sumCents(taken.map((line) => line.amountDiscountCents)),
      },
    },
    allHeld,
    held.intent.id,
  );
  // The lines and the hold must agree: what the capture leaves is released for good.
  if (allocation.amount !== held.intent.amountCapturableCents) return undefined;
  const capture: NewCapture = {
    ...{ id: newId('capture'), sessionId: before.id, cause: 'page', allocation, metadata: {}, at: plan.actingAt },
  };
  const events: NewEvent[] = [
    chargeEvent(scope, 'charge.succeeded', charge, at),
    intentEvent(scope, 'payment_intent.succeeded', intent, at),
  ];
  const operation = await context.groups.chargedSecond.submit(scope, {
    ...{ before, after, attempt, intent, charge: reported, ledgerEntryId: newId('ledger_transaction') },
    ...{ lines: paidLines(before, intent), answer: undefined, plan, capture },
    method: confirmedMethod(attempt, verdict),
    events: events.map(encodeEvent),
  });
  if (operation === undefined) return undefined;
  const settled = { ...attempt, status: 'succeeded' as const };
  return { session: after, attempt: settled, intent, charge, capture: { capture, operation } };
}

async function captureFirst(
  context: Context,
  scope: Scope,
  plan: PaymentPlan,
  held: PaidCard,
  { session, capture: { capture, operation } }: Pick<PaidCard, 'session'> & { readonly capture: RequestedCapture },
): Promise<Session | undefined> {
  const written = capturedHold(scope, session, held, capture);
  const isWritten = await context.groups.capturesOnPage.submit(scope, {
    ...written,
    ...{ operationId: operation.id, answer: undefined, plan },
  });
  return isWritten ? written.after : undefined;
}
