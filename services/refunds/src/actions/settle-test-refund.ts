import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Refund, RefundAttempt } from '../domain/refund.ts';
import { liveAttemptsOf } from '../store/refund-attempts.ts';
import { findRefund, lockRefund } from '../store/refunds.ts';
import { applyMove, moveOf } from './apply-facts.ts';
import { carryOutAttempt } from './carry-out-attempt.ts';
import { releaseItem } from './release-item.ts';

/**
 * Lets the sandbox's bank have the last word on a refund: it goes through, or it fails, also after it had gone through, as banks do. Test mode
 * only. Answers the refund when it is all settled; a repeated call answers it again.
 */
export async function settleTestRefund(
  context: Context,
  scope: Scope,
  refundId: string,
  succeed: boolean,
): Promise<Refund> {
  if (!scope.testMode) throw new Failure('test_mode_required');
  const refund = await findRefund(context.database, scope, refundId);
  if (refund === undefined) throw new Failure('refund_not_found');
  // Already so, as after a request whose answer was lost.
  if (refund.status === (succeed ? 'succeeded' : 'failed')) return refund;
  const isOver = refund.status === 'failed' || refund.status === 'canceled' || refund.status === 'succeeded';
  if (isOver && (succeed || refund.status !== 'succeeded')) throw new Failure('refund_not_pending');
  for (const attempt of await acceptedAttempts(context, scope, refundId)) {
    await decide(context, scope, attempt, succeed);
  }
  return released(context, scope, refundId);
}

// What failed is given back by this call, or by the sweeper if that was quicker.
async function released(context: Context, scope: Scope, refundId: string): Promise<Refund> {
  for (let look = 0; look < mostLooks; look++) {
    const refund = await findRefund(context.database, scope, refundId);
    if (refund === undefined) throw new Error('Refund not found');
    const releasing = refund.items.filter(({ status }) => status === 'releasing');
    if (releasing.length === 0) return refund;
    for (const { paymentIntentId } of releasing) await releaseItem(context, scope, refundId, paymentIntentId);
    if (look > 0) await new Promise((resolve) => setTimeout(resolve, pauseBetweenLooksMs));
  }
  throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
}

// The bank can only decide refunds that it has received, so this sends waiting attempts first.
async function acceptedAttempts(context: Context, scope: Scope, refundId: string): Promise<RefundAttempt[]> {
  for (let look = 0; look < mostLooks; look++) {
    const attempts = await liveAttemptsOf(context.database, scope, refundId);
    const waiting = attempts.filter(({ processorRefundId }) => processorRefundId === null);
    if (waiting.length === 0) return attempts;
    for (const { attemptId } of waiting) await carryOutAttempt(context, scope, attemptId);
    if (look > 0) await new Promise((resolve) => setTimeout(resolve, pauseBetweenLooksMs));
  }
  throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
}

async function decide(context: Context, scope: Scope, attempt: RefundAttempt, succeed: boolean): Promise<void> {
  const { processorRefundId, refundId, paymentIntentId } = attempt;
  if (processorRefundId === null) throw new Error('The processor does not know the attempt');
  const processor = context.processors.at(scope, attempt.processorAccount);
  const { testBank: bank } = processor;
  if (bank === undefined) throw new Failure('test_mode_required');
  const said = await (succeed ? bank.succeedRefund(processorRefundId) : bank.failRefund(processorRefundId));
  // A bank that has spoken already does not do so twice.
  const facts = said.kind === 'rejected' ? await processor.retrieveRefund(processorRefundId) : said;
  if (facts.kind === 'not_now') {
    throw new Failure('service_unavailable', { retryAfterSeconds: Math.ceil(facts.retryAfterMs / 1_000) });
  }
  if (facts.kind === 'unknown' || facts.kind === 'rejected') {
    throw new Failure('service_unavailable', { retryAfterSeconds: 1 });
  }
  await withTx(context.database, scope, async (tx) => {
    const refund = await lockRefund(tx, scope, refundId);
    if (refund === undefined) throw new Error('An attempt has no refund');
    await applyMove(tx, scope, refund, paymentIntentId, moveOf(facts), new Date());
  });
}

const mostLooks = 50;
const pauseBetweenLooksMs = 100;
