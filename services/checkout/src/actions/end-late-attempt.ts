import { type Scope, withTx } from '@eligo/postgres';
import type { NotNow, ProcessorPort } from '@eligo/processor';
import type { Context } from '../context.ts';
import {
  type ChargeAttempt,
  declinedByShopper,
  nextCheckDelayMs,
  type ProcessorVerdict,
  whileDownMs,
  whileNotConfiguredMs,
} from '../domain/charge-attempt.ts';
import { postponeAttempt, recordUnknown } from '../store/charge-attempts.ts';
import { abandonLate } from './abandon-late.ts';
import { verdictOf } from './send-attempt.ts';
import type { SettledAttempt } from './settle-attempt.ts';
import { settleLate } from './settle-late.ts';

/**
 * Ends an attempt whose time to confirm is over: cancels its intent at the processor, so that no confirmation that is still on its way can charge,
 * and records that nothing was charged, or that its customer gave it up. What was charged in time is settled. Until one of these is certain the attempt
 * stays unknown: an intent that is not found, a timeout and a refusal prove nothing. The caller holds the attempt's lease, and no transaction.
 */
export async function endLateAttempt(
  context: Context,
  scope: Scope,
  attempt: ChargeAttempt,
  deadlineMs: number,
): Promise<SettledAttempt | undefined> {
  // It was never sent: the next process abandons it, which needs no processor.
  if (attempt.processorIntentId === null) return postpone(context, scope, attempt, 0);
  const processor = context.processors.findAt(scope, attempt.processorAccount);
  if (processor === undefined) return postpone(context, scope, attempt, whileNotConfiguredMs);
  if (processor.isDown()) return postpone(context, scope, attempt, whileDownMs);
  const fate = await cancel(processor, attempt, attempt.processorIntentId, deadlineMs);
  await context.failpoint('late.processor_answered');
  switch (fate.kind) {
    case 'canceled':
      // A payment that waited for its customer was canceled by a call whose answer was lost, or at the processor. It is not started again.
      if (attempt.authenticateUntil != null) return settleLate(context, scope, attempt, declinedByShopper);
      await abandonLate(context, scope, attempt);
      return undefined;
    case 'verdict':
      return settleLate(context, scope, attempt, fate.verdict);
    case 'not_now':
      return postpone(context, scope, attempt, fate.retryAfterMs);
    case 'unknown':
      await withTx(context.database, scope, (tx) =>
        recordUnknown(tx, scope, attempt, nextCheckDelayMs(attempt.checks)),
      );
      if (fate.refusal !== undefined) {
        context.logger.error(
          { attemptId: attempt.id, paymentIntentId: attempt.paymentIntentId, code: fate.refusal },
          'Processor refused to cancel an expired charge attempt; will retry',
        );
      }
      return undefined;
  }
}

type Fate =
  | { readonly kind: 'canceled' }
  | { readonly kind: 'verdict'; readonly verdict: ProcessorVerdict }
  | NotNow
  | { readonly kind: 'unknown'; readonly refusal: string | undefined };

async function cancel(
  processor: ProcessorPort,
  attempt: ChargeAttempt,
  intentId: string,
  deadlineMs: number,
): Promise<Fate> {
  const remaining = () => Math.max(deadlineMs - performance.now(), 0);
  const known = await processor.retrieveIntent(intentId, { timeoutMs: remaining() });
  if (known.kind === 'canceled') return { kind: 'canceled' };
  if (known.kind === 'not_now') return known;
  if (known.kind === 'unknown' || known.kind === 'processing') return { kind: 'unknown', refusal: undefined };
  if (known.kind === 'rejected') return { kind: 'unknown', refusal: known.code };
  if (known.kind === 'succeeded') return certain(verdictOf(attempt, known));
  // A hold is voided by the same call. The check count makes the key new after each unknown answer, since a stored failure would be replayed.
  const canceled = await processor.cancelIntent(intentId, {
    idempotencyKey: `${attempt.id}:late:${attempt.checks}`,
    timeoutMs: remaining(),
  });
  if (canceled.kind === 'succeeded') return certain(verdictOf(attempt, canceled));
  if (canceled.kind === 'not_now') return canceled;
  if (canceled.kind !== 'canceled') {
    return { kind: 'unknown', refusal: canceled.kind === 'rejected' ? canceled.code : undefined };
  }
  // What the card said before is a fact, and final now.
  return known.kind === 'declined' || known.kind === 'requires_action'
    ? certain(verdictOf(attempt, known))
    : { kind: 'canceled' };
}

function certain(verdict: ReturnType<typeof verdictOf>): Fate {
  if (verdict === undefined || verdict === 'confirmable' || verdict.kind === 'not_now') {
    return { kind: 'unknown', refusal: undefined };
  }
  return { kind: 'verdict', verdict };
}

// Without a call to the processor, no check counts.
async function postpone(context: Context, scope: Scope, attempt: ChargeAttempt, delayMs: number): Promise<undefined> {
  await withTx(context.database, scope, (tx) => postponeAttempt(tx, scope, attempt, delayMs));
}
