import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Look } from '../domain/look.ts';
import { pauseWhileNotConfiguredMs } from '../domain/pauses.ts';
import { findAttemptByProcessorRefund } from '../store/refund-attempts.ts';
import { lockRefund } from '../store/refunds.ts';
import { applyMove, moveOf } from './apply-facts.ts';

/**
 * Fetches a refund of the processor and records what it stands at, also long after its attempt is no longer checked: a bank may return it months
 * later. The state table keeps what an earlier look has recorded from being undone by a later record of an older state.
 */
export async function lookAtRefund(
  context: Context,
  scope: Scope,
  processor: string,
  processorRefundId: string,
): Promise<Look> {
  const attempt = await findAttemptByProcessorRefund(context.database, scope, processorRefundId);
  if (attempt === undefined) return { kind: 'not_ours' };
  const port = context.processors.findAt(scope, attempt.processorAccount);
  if (port === undefined) return { kind: 'later', inMs: pauseWhileNotConfiguredMs };
  // One that another processor calls by the same name.
  if (port.name !== processor) return { kind: 'not_ours' };
  if (port.isDown()) return { kind: 'later' };
  const facts = await port.retrieveRefund(processorRefundId, { timeoutMs: context.budgets.processorMs });
  if (facts.kind === 'not_now') return { kind: 'later', inMs: facts.retryAfterMs };
  if (facts.kind === 'unknown' || facts.kind === 'rejected') return { kind: 'later' };
  if (facts.amountCents !== attempt.amountCents) {
    context.logger.warn(
      { attempt: attempt.attemptId },
      'Processor reports a refund amount that differs from the requested amount',
    );
    return { kind: 'recorded' };
  }
  await withTx(context.database, scope, async (tx) => {
    const refund = await lockRefund(tx, scope, attempt.refundId);
    if (refund === undefined) throw new Error('An attempt has no refund');
    await applyMove(tx, scope, refund, attempt.paymentIntentId, moveOf(facts), new Date());
  });
  return { kind: 'recorded' };
}
