import { type Expecting, type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { authenticationCheckMs, type ChargeAttempt, nextCheckDelayMs } from '../domain/charge-attempt.ts';
import { postponeAttempt, recordUnknown } from '../store/charge-attempts.ts';
import type { ClaimedCharge, ClaimedInvoiceCharge } from './charge-claim.ts';
import { endLateAttempt } from './end-late-attempt.ts';
import { customerExists } from './require-customer.ts';
import { awaitShopper, sendAttempt } from './send-attempt.ts';
import { type SettledAttempt, settleAttempt } from './settle-attempt.ts';

/**
 * Sends an attempt and settles its outcome, or cancels it once its time to confirm is over. Returns undefined while the outcome is unknown, after
 * such a cancellation, and when another process has taken over. If this fails, the outcome of what it sent is unknown, and it releases the lease so
 * that a retry need not wait. The caller holds the lease.
 */
export async function carryOutAttempt(
  context: Context,
  scope: Scope,
  attempt: ChargeAttempt,
  deadlineMs: number,
  claimed?: ClaimedCharge | ClaimedInvoiceCharge,
  onNotNow?: (delayMs: number) => void,
): Promise<SettledAttempt | undefined> {
  const { fences } = context.groups;
  const settlements = settlementsOf(context, attempt, claimed);
  try {
    if (attempt.confirmOver) {
      if (attempt.awaitsCustomer === true && (await stillAwaits(context, scope, attempt, deadlineMs))) return undefined;
      return await endLateAttempt(context, scope, attempt, deadlineMs);
    }
    if (settlements !== undefined) fences.expect(scope, attempt.id);
    const sent = await sendAttempt(context, scope, attempt, deadlineMs, () => settlements?.expect(scope, attempt.id));
    if (sent.kind !== 'verdict' || sent.verdict.kind !== 'succeeded') settlements?.forget(scope, attempt.id);
    if (sent.kind === 'unknown' && sent.notNowMs !== undefined) onNotNow?.(sent.notNowMs);
    return sent.kind === 'verdict'
      ? await settleAttempt(context, scope, sent.attempt, sent.verdict, claimed)
      : undefined;
  } catch (error) {
    await releaseLease(context, scope, attempt);
    throw error;
  } finally {
    fences.forget(scope, attempt.id);
    settlements?.forget(scope, attempt.id);
  }
}

// Where an attempt is settled together with others. Only one that this call has begun is: charges that begin together stay together.
function settlementsOf(
  { groups }: Context,
  { driver }: ChargeAttempt,
  claimed: ClaimedCharge | ClaimedInvoiceCharge | undefined,
): Expecting | undefined {
  if (claimed === undefined) return undefined;
  if (driver === 'invoice') return groups.invoiceSettlements;
  if (claimed.session === undefined) return undefined;
  return claimed.settlements ?? (claimed.plan === undefined ? groups.settlements : groups.pageSettlements);
}

// Only reads the intent: Eligo no longer confirms it, but its customer still can. False once the processor has an outcome, and once the customer is deleted.
async function stillAwaits(
  context: Context,
  scope: Scope,
  attempt: ChargeAttempt,
  deadlineMs: number,
): Promise<boolean> {
  const { processorIntentId, processorAccount } = attempt;
  const processor = context.processors.findAt(scope, processorAccount);
  if (processorIntentId === null || processor === undefined || processor.isDown()) return false;
  if (!(await customerExists(context.database, scope, attempt))) return false;
  const known = await processor.retrieveIntent(processorIntentId, {
    timeoutMs: Math.max(deadlineMs - performance.now(), 0),
  });
  if (known.kind === 'requires_action') await awaitShopper(context, scope, attempt);
  else if (known.kind === 'unknown' || known.kind === 'processing' || known.kind === 'not_now') {
    const lookMs = authenticationCheckMs(attempt.createdAt, context.clock.now());
    const delayMs = known.kind === 'not_now' ? known.retryAfterMs : lookMs;
    await withTx(context.database, scope, (tx) => postponeAttempt(tx, scope, attempt, delayMs));
  } else return false;
  return true;
}

// Only the holder of the epoch can release, and only before the attempt is settled. The caller throws the error that led here.
async function releaseLease(context: Context, scope: Scope, attempt: ChargeAttempt): Promise<void> {
  try {
    await withTx(context.database, scope, (tx) => recordUnknown(tx, scope, attempt, nextCheckDelayMs(attempt.checks)));
  } catch (error) {
    context.logger.warn(
      { err: error, attemptId: attempt.id },
      'Failed to release the lease of a charge attempt; it stays leased until the lease expires',
    );
  }
}
