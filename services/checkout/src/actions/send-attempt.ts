import { type Scope, withTx } from '@eligo/postgres';
import type { NotNow, ProcessorPort } from '@eligo/processor';
import type { Charging } from '../charging.ts';
import {
  type ChargeAttempt,
  healthcareOfTender,
  nextCheckDelayMs,
  type ProcessorVerdict,
  whileDownMs,
} from '../domain/charge-attempt.ts';
import { postponeAttempt, recordUnknown } from '../store/charge-attempts.ts';
import { isOurOwnFault } from './processor-refusal.ts';

/** What became of a send: a verdict to settle, an unknown outcome, or a fence that was not passed. */
export type SendResult =
  | { readonly kind: 'verdict'; readonly attempt: ChargeAttempt; readonly verdict: ProcessorVerdict }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'fenced' };

/**
 * Drives an attempt at the processor until its outcome is certain or the time is over. The payment intent is made unconfirmed first, under a
 * key of its own: it holds no money, so that a creation whose answer was lost is simply made again. Money moves only by confirming that one
 * intent, which can be charged once, whatever is sent to it and however often. The caller holds the attempt's lease, and no transaction.
 */
export async function sendAttempt(
  charging: Charging,
  scope: Scope,
  attempt: ChargeAttempt,
  deadlineMs: number,
): Promise<SendResult> {
  const processor = charging.processors.of(scope);
  const remaining = () => Math.max(deadlineMs - performance.now(), 0);
  if (processor.isDown()) return postpone(charging, scope, attempt, whileDownMs);
  const intent = await ensureIntent(processor, attempt, remaining);
  if (intent.kind === 'not_now') return postpone(charging, scope, attempt, intent.retryAfterMs);
  if (intent.kind !== 'created') return intent.kind === 'unknown' ? unknown(charging, scope, attempt) : intent;
  await charging.failpoint('charge.intent_created');

  const fenced = await charging.groups.fences.submit(scope, {
    attempt,
    processorIntentId: intent.intentId,
    callMs: Math.min(remaining(), charging.budgets.callMs),
  });
  if (fenced === undefined) {
    // The lease or the time to confirm has run out. The holder of the epoch releases the lease, so that the next check need not wait for it.
    await withTx(charging.database, scope, (tx) => postponeAttempt(tx, scope, attempt, 0));
    return { kind: 'fenced' };
  }
  await charging.failpoint('charge.fence_passed');

  const verdict = await confirmOrRead(processor, fenced, remaining);
  await charging.failpoint('charge.processor_answered');
  if (verdict?.kind === 'not_now') return postpone(charging, scope, fenced, verdict.retryAfterMs);
  return verdict === undefined ? unknown(charging, scope, fenced) : { kind: 'verdict', attempt: fenced, verdict };
}

type EnsuredIntent =
  | { readonly kind: 'created'; readonly intentId: string }
  | { readonly kind: 'unknown' }
  | NotNow
  | { readonly kind: 'verdict'; readonly attempt: ChargeAttempt; readonly verdict: ProcessorVerdict };

async function ensureIntent(
  processor: ProcessorPort,
  attempt: ChargeAttempt,
  remaining: () => number,
): Promise<EnsuredIntent> {
  if (attempt.processorIntentId !== null) return { kind: 'created', intentId: attempt.processorIntentId };
  // The check count makes the key new after each unknown creation: a stored failure would be replayed under the old one for a day.
  const made = await processor.createIntent(
    {
      attemptId: attempt.id,
      amountCents: attempt.amountCents,
      capture: attempt.captureMethod,
      paymentMethod: attempt.processorPaymentMethodId,
      customer: attempt.processorCustomerId ?? undefined,
      healthcare: healthcareOfTender(attempt),
      metadata: { payment_intent: attempt.paymentIntentId, [attempt.purpose]: attempt.subjectId, leg: attempt.leg },
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
  remaining: () => number,
): Promise<ProcessorVerdict | NotNow | undefined> {
  // The intent of its row, whichever process created it: no other is ever confirmed.
  const { processorIntentId: intentId } = attempt;
  if (intentId === null) throw new Error(`Charge attempt ${attempt.id} passed the fence without an intent`);
  if (attempt.sends > 1) {
    const known = await processor.retrieveIntent(intentId, { timeoutMs: remaining() });
    if (verdictOf(attempt, known) !== 'confirmable')
      return settleSafely(processor, attempt, intentId, known, remaining);
  }
  const answer = await processor.confirmIntent(
    intentId,
    { paymentMethod: attempt.processorPaymentMethodId, offSession: attempt.offSession },
    { idempotencyKey: `${attempt.id}:confirm:${attempt.sends}`, timeoutMs: remaining() },
  );
  return settleSafely(processor, attempt, intentId, answer, remaining);
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
  const mayStillCharge = attempt.sends > 1 || answer.kind === 'requires_action';
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
      return { kind: 'succeeded', chargeId: answer.chargeId, capturable: answer.kind === 'requires_capture' };
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

// On any mismatch (another amount, another attempt's charge, a part of the money, a hold in place of a charge) leave the attempt unsettled and log an error,
// until a person has looked.
function assertSameCharge(
  attempt: ChargeAttempt,
  answer: Extract<ProcessorAnswer, { kind: 'succeeded' | 'requires_capture' }>,
): void {
  const asked = attempt.captureMethod === 'manual' ? 'requires_capture' : 'succeeded';
  const moved = answer.kind === 'succeeded' ? answer.amountReceivedCents : answer.amountCapturableCents;
  if (
    answer.kind !== asked ||
    moved !== attempt.amountCents ||
    answer.amountCents !== attempt.amountCents ||
    answer.currency !== 'usd' ||
    answer.metadata.attempt !== attempt.id
  ) {
    throw new Error(`Processor intent ${answer.intentId} does not match charge attempt ${attempt.id}`);
  }
}

async function unknown(charging: Charging, scope: Scope, attempt: ChargeAttempt): Promise<SendResult> {
  await withTx(charging.database, scope, (tx) => recordUnknown(tx, scope, attempt, nextCheckDelayMs(attempt.checks)));
  await charging.failpoint('charge.unknown_recorded');
  return { kind: 'unknown' };
}

// A call that was not made, or was rate limited, does not count as a check: the next check must not come an hour after the processor is back.
async function postpone(
  charging: Charging,
  scope: Scope,
  attempt: ChargeAttempt,
  delayMs: number,
): Promise<SendResult> {
  await withTx(charging.database, scope, (tx) => postponeAttempt(tx, scope, attempt, delayMs));
  return { kind: 'unknown' };
}
