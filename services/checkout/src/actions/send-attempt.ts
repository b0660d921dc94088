import { type Scope, withTx } from '@eligo/postgres';
import type { NotNow, ProcessorPort } from '@eligo/processor';
import { minimumChargeCents } from '@eligo/values';
import type { Context } from '../context.ts';
import {
  authenticationCheckMs,
  type ChargeAttempt,
  healthcareOfTender,
  nextCheckDelayMs,
  type ProcessorVerdict,
  whileDownMs,
  whileNotConfiguredMs,
} from '../domain/charge-attempt.ts';
import { isConfirmationToken, keepsCard } from '../domain/payment-method.ts';
import { type CardUse, cardUseOf } from '../domain/session.ts';
import { noteAuthentication } from '../store/authentications.ts';
import { postponeAttempt, recordUnknown } from '../store/charge-attempts.ts';
import { awaitCustomer } from '../store/late-attempts.ts';
import { findPageCard } from '../store/page-cards.ts';
import { loadSession } from '../store/sessions.ts';
import { isOurOwnFault } from './processor-refusal.ts';

/** What became of a send: a verdict to settle, an unknown outcome, or a fence that was not passed. */
export type SendResult =
  | { readonly kind: 'verdict'; readonly attempt: ChargeAttempt; readonly verdict: ProcessorVerdict }
  /** `notNowMs`: the processor was not called, or turned it away; it is asked again after this. */
  | { readonly kind: 'unknown'; readonly notNowMs?: number }
  | { readonly kind: 'fenced' };

/**
 * Drives an attempt at the processor until its outcome is certain or the time is over. The payment intent is made unconfirmed first, under a
 * key of its own: it holds no money, so that a creation whose answer was lost is simply made again. Money moves only by confirming that one
 * intent, which can be charged once, whatever is sent to it and however often. The caller holds the attempt's lease, and no transaction.
 */
export async function sendAttempt(
  context: Context,
  scope: Scope,
  attempt: ChargeAttempt,
  deadlineMs: number,
  onFencePassed: () => void,
): Promise<SendResult> {
  const processor = context.processors.findAt(scope, attempt.processorAccount);
  const remaining = () => Math.max(deadlineMs - performance.now(), 0);
  if (processor === undefined) return postpone(context, scope, attempt, whileNotConfiguredMs);
  if (processor.isDown()) return postpone(context, scope, attempt, whileDownMs);
  const keepsCardFor = await useOfKeptCard(context, scope, attempt);
  const intent = await ensureIntent(processor, attempt, keepsCardFor, remaining);
  if (intent.kind === 'not_now') return postpone(context, scope, attempt, intent.retryAfterMs);
  if (intent.kind !== 'created') return intent.kind === 'unknown' ? unknown(context, scope, attempt) : intent;
  await context.failpoint('charge.intent_created');

  const fenced = await context.groups.fences.submit(scope, {
    attempt,
    processorIntentId: intent.intentId,
    callMs: Math.min(remaining(), context.budgets.callMs),
  });
  if (fenced === undefined) {
    // The lease or the time to confirm has run out. The holder of the epoch releases the lease, so that the next check need not wait for it.
    await withTx(context.database, scope, (tx) => postponeAttempt(tx, scope, attempt, 0));
    return { kind: 'fenced' };
  }
  onFencePassed();
  await context.failpoint('charge.fence_passed');

  const verdict = await confirmOrRead(processor, fenced, keepsCardFor, remaining, () =>
    mayAuthenticate(context, scope, fenced),
  );
  await context.failpoint('charge.processor_answered');
  if (verdict === 'authenticate') return awaitShopper(context, scope, fenced);
  if (verdict?.kind === 'not_now') return postpone(context, scope, fenced, verdict.retryAfterMs);
  return verdict === undefined ? unknown(context, scope, fenced) : { kind: 'verdict', attempt: fenced, verdict };
}

// Undefined where the payment keeps no card. An invoice belongs to a subscription, which renews with the card.
async function useOfKeptCard(
  { database }: Context,
  scope: Scope,
  attempt: ChargeAttempt,
): Promise<CardUse | undefined> {
  if (!keepsCard(attempt)) return undefined;
  const session = attempt.purpose === 'invoice' ? undefined : await loadSession(database, scope, attempt.subjectId);
  return session === undefined ? 'off_session' : cardUseOf(session);
}

type EnsuredIntent =
  | { readonly kind: 'created'; readonly intentId: string }
  | { readonly kind: 'unknown' }
  | NotNow
  | { readonly kind: 'verdict'; readonly attempt: ChargeAttempt; readonly verdict: ProcessorVerdict };

async function ensureIntent(
  processor: ProcessorPort,
  attempt: ChargeAttempt,
  keepsCardFor: CardUse | undefined,
  remaining: () => number,
): Promise<EnsuredIntent> {
  if (attempt.processorIntentId !== null) return { kind: 'created', intentId: attempt.processorIntentId };
  const isToken = isConfirmationToken(attempt.processorPaymentMethodId);
  // The check count makes the key new after each unknown creation: a stored failure would be replayed under the old one for a day.
  const made = await processor.createIntent(
    {
      attemptId: attempt.id,
      amountCents: attempt.amountCents,
      capture: attempt.captureMethod,
      // A token has no payment method before it confirms. With a customer it is kept, and is attached by the payment.
      paymentMethod: isToken ? undefined : attempt.processorPaymentMethodId,
      customer: attempt.processorCustomerId ?? undefined,
      keepsCardFor,
      threeDSecure: attempt.threeDSecure ?? undefined,
      healthcare: healthcareOfTender(attempt),
      acceptsPart: attempt.acceptsPart === true ? true : undefined,
      metadata: {
        payment_intent: attempt.paymentIntentId,
        [attempt.purpose === 'invoice' ? 'invoice' : 'session']: attempt.subjectId,
        leg: attempt.leg,
      },
    },
    { idempotencyKey: `${attempt.id}:create:${attempt.checks}`, timeoutMs: remaining() },
  );
  if (made.kind === 'created') return { kind: 'created', intentId: made.intentId };
  if (made.kind === 'unknown') return { kind: 'unknown' };
  if (made.kind === 'not_now') return made;
  if (made.kind === 'rejected' && isOurOwnFault(made)) return { kind: 'unknown' };
  const { code } = made;
  return made.kind === 'declined'
    ? {
        kind: 'verdict',
        attempt,
        verdict: { kind: 'declined', code, declineCode: made.declineCode, chargeId: undefined },
      }
    : { kind: 'verdict', attempt, verdict: { kind: 'failed', code } };
}

async function confirmOrRead(
  processor: ProcessorPort,
  attempt: ChargeAttempt,
  keepsCardFor: CardUse | undefined,
  remaining: () => number,
  mayAuthenticate: () => Promise<boolean>,
): Promise<ProcessorVerdict | NotNow | 'authenticate' | undefined> {
  // The intent of its row, whichever process created it: no other is ever confirmed.
  const { processorIntentId: intentId } = attempt;
  if (intentId === null) throw new Error(`Charge attempt ${attempt.id} passed the fence without an intent`);
  if (attempt.sends > 1) {
    const known = await processor.retrieveIntent(intentId, { timeoutMs: remaining() });
    if (known.kind === 'requires_action' && (await mayAuthenticate())) return 'authenticate';
    if (verdictOf(attempt, known) !== 'confirmable')
      return settleSafely(processor, attempt, intentId, known, remaining);
  }
  const answer = await processor.confirmIntent(
    intentId,
    {
      ...cardOf(attempt),
      ...{ offSession: attempt.offSession, isHold: attempt.captureMethod === 'manual' },
      keepsCard: keepsCardFor === 'off_session',
      mandate: attempt.mandateId ?? undefined,
    },
    { idempotencyKey: `${attempt.id}:confirm:${attempt.sends}`, timeoutMs: remaining() },
  );
  if (answer.kind === 'requires_action' && (await mayAuthenticate())) return 'authenticate';
  return settleSafely(processor, attempt, intentId, answer, remaining);
}

// Only the shopper who typed the card on a page is there to authenticate. Of invoices, those that are charged with their customer there are marked.
async function mayAuthenticate({ database }: Context, scope: Scope, attempt: ChargeAttempt): Promise<boolean> {
  if (attempt.offSession || attempt.driver === 'confirm') return false;
  return (
    attempt.driver === 'invoice' ||
    (await findPageCard(database, scope, attempt.processorPaymentMethodId)) !== undefined
  );
}

/**
 * The bank waits for the shopper, and the attempt for the bank: on a page until its time to confirm is over, and for the first payment of a subscription for a
 * day. A look at the processor counts as no check.
 */
export async function awaitShopper(context: Context, scope: Scope, attempt: ChargeAttempt): Promise<SendResult> {
  const isFirstPayment =
    attempt.driver === 'invoice' &&
    (await findPageCard(context.database, scope, attempt.processorPaymentMethodId))?.invoiceId !== attempt.subjectId;
  await withTx(context.database, scope, async (tx) => {
    if (isFirstPayment) await awaitCustomer(tx, scope, attempt);
    // The timeline of a session tells of it.
    if (attempt.purpose === 'session') {
      await noteAuthentication(tx, scope, {
        sessionId: attempt.subjectId,
        attemptId: attempt.id,
        at: attempt.actingAt,
      });
    }
    await postponeAttempt(tx, scope, attempt, authenticationCheckMs(attempt.createdAt, context.clock.now()));
  });
  await context.failpoint('authentication.asked');
  return { kind: 'unknown' };
}

function cardOf({ processorPaymentMethodId: id }: ChargeAttempt) {
  return isConfirmationToken(id) ? { confirmationToken: id } : { paymentMethod: id };
}

/**
 * A refusal is only certain once the intent is canceled where something may still charge it: an earlier send whose answer was lost and that may
 * be on its way, or a shopper who authenticates after all.
 */
async function settleSafely(
  processor: ProcessorPort,
  attempt: ChargeAttempt,
  intentId: string,
  answer: ProcessorAnswer,
  remaining: () => number,
): Promise<ProcessorVerdict | NotNow | undefined> {
  const verdict = verdictOf(attempt, answer);
  if (verdict === undefined || verdict === 'confirmable') return undefined;
  if (verdict.kind === 'not_now') return verdict;
  const mayStillCharge = attempt.sends > 1 || answer.kind === 'requires_action' || answer.kind === 'requires_capture';
  if (verdict.kind === 'succeeded' || !mayStillCharge) return verdict;
  const canceled = await processor.cancelIntent(intentId, {
    idempotencyKey: `${attempt.id}:void:${attempt.checks}`,
    timeoutMs: remaining(),
  });
  if (canceled.kind === 'canceled') return verdict;
  const known = await processor.retrieveIntent(intentId, { timeoutMs: remaining() });
  const latest = verdictOf(attempt, known);
  if (latest !== undefined && latest !== 'confirmable' && latest.kind === 'succeeded') return latest;
  return [canceled, known].find((refused) => refused.kind === 'not_now');
}

type ProcessorAnswer = Awaited<ReturnType<ProcessorPort['retrieveIntent']>>;

/** What the processor's answer means for an attempt; undefined while the outcome is unknown. Throws when it is about another charge. */
export function verdictOf(
  attempt: ChargeAttempt,
  answer: ProcessorAnswer,
): ProcessorVerdict | NotNow | 'confirmable' | undefined {
  switch (answer.kind) {
    case 'succeeded':
    case 'requires_capture':
      assertSameCharge(attempt, answer);
      if (isPart(attempt, answer) && !isUsablePart(attempt, answer)) return short(answer.chargeId);
      return {
        kind: 'succeeded',
        chargeId: answer.chargeId,
        capturable: answer.kind === 'requires_capture',
        captureBefore: answer.captureBefore,
        partCents: isPart(attempt, answer) ? answer.amountCapturableCents : undefined,
        paymentMethodId: answer.paymentMethodId,
        agreement: answer.agreement,
      };
    case 'declined':
      return { kind: 'declined', code: answer.code, declineCode: answer.declineCode, chargeId: answer.chargeId };
    case 'requires_action':
      return {
        kind: 'declined',
        code: 'authentication_required',
        declineCode: 'authentication_required',
        chargeId: undefined,
      };
    case 'confirmable':
      return 'confirmable';
    case 'canceled':
      return { kind: 'failed', code: 'canceled' };
    case 'rejected':
      return isOurOwnFault(answer) ? undefined : { kind: 'failed', code: answer.code };
    case 'not_now':
      return answer;
    case 'processing':
    case 'unknown':
      return undefined;
  }
}

type Approved = Extract<ProcessorAnswer, { kind: 'succeeded' | 'requires_capture' }>;

// A hold of less than was asked for. A charge of less cannot be taken back as simply, so a person looks at it.
function isPart({ amountCents, captureMethod }: ChargeAttempt, answer: Approved): boolean {
  const held = answer.amountCapturableCents;
  return captureMethod === 'manual' && answer.kind === 'requires_capture' && held > 0 && held < amountCents;
}

// It was asked for, and what it leaves can be charged to another card. Any other part is voided, and the card is declined.
function isUsablePart({ amountCents, acceptsPart }: ChargeAttempt, { amountCapturableCents: held }: Approved): boolean {
  return acceptsPart === true && held >= minimumChargeCents && amountCents - held >= minimumChargeCents;
}

function short(chargeId: string): ProcessorVerdict {
  return { kind: 'declined', code: 'card_declined', declineCode: 'insufficient_funds', chargeId };
}

// On any mismatch (another amount, another attempt's charge, a part of the money, a hold in place of a charge) leave the attempt unsettled and log an error,
// until a person has looked.
function assertSameCharge(attempt: ChargeAttempt, answer: Approved): void {
  const asked = attempt.captureMethod === 'manual' ? 'requires_capture' : 'succeeded';
  const moved = answer.kind === 'succeeded' ? answer.amountReceivedCents : answer.amountCapturableCents;
  const isAsWanted = moved === attempt.amountCents || isPart(attempt, answer);
  if (
    answer.kind !== asked ||
    !isAsWanted ||
    answer.amountCents !== attempt.amountCents ||
    answer.currency !== 'usd' ||
    answer.metadata.attempt !== attempt.id
  ) {
    throw new Error(`Processor intent ${answer.intentId} does not match charge attempt ${attempt.id}`);
  }
}

async function unknown(context: Context, scope: Scope, attempt: ChargeAttempt): Promise<SendResult> {
  await withTx(context.database, scope, (tx) => recordUnknown(tx, scope, attempt, nextCheckDelayMs(attempt.checks)));
  await context.failpoint('charge.unknown_recorded');
  return { kind: 'unknown' };
}

// A call that was not made, or was rate limited, does not count as a check: the next check must not come an hour after the processor is back.
async function postpone(context: Context, scope: Scope, attempt: ChargeAttempt, delayMs: number): Promise<SendResult> {
  await withTx(context.database, scope, (tx) => postponeAttempt(tx, scope, attempt, delayMs));
  return { kind: 'unknown', notNowMs: delayMs };
}
