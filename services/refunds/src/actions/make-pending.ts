import { encodeEvent } from '@eligo/events';
import type { Scope } from '@eligo/postgres';
import type { RefundAllocation, ReserveRefundResponse } from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64, newId, type ProcessorAccount, sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import type { Refund, RefundAttempt, RefundItem, RequestedRefund } from '../domain/refund.ts';
import type { DueWork } from '../store/due-work.ts';
import { findRefund } from '../store/refunds.ts';
import { answerOf } from './refund-answer.ts';
import { refundEvent } from './refund-events.ts';

/**
 * Makes a reserved refund pending: its parts, an attempt for each, the movements, the event and the answer under its key, in one transaction.
 * Whoever comes second finds it done. Answers the refund.
 */
export async function makePending(
  context: Context,
  scope: Scope,
  requested: RequestedRefund,
  response: ReserveRefundResponse,
): Promise<Refund> {
  const refund = pendingRefund(scope, requested, response);
  const attemptIds = refund.items.map(() => newId('charge_attempt'));
  const { leaseMs, processorMs, marginMs } = context.budgets;
  // Counted from before the lease began, by a clock that only goes forward.
  const sendBefore = performance.now() + leaseMs - processorMs - marginMs;
  const now = await context.groups.pendings.submit(scope, {
    ...{ refund, attemptIds },
    answer: answerOf(refund, response.session),
    events: [encodeEvent(refundEvent(scope, 'refund.created', refund, refund.createdAt))],
  });
  if (now !== undefined) {
    context.wake(attemptIds.map((id, at) => workOf(scope, refund, id, at, { now, sendBefore })));
    return refund;
  }
  const known = await findRefund(context.database, scope, refund.refundId);
  if (known === undefined) throw new Error('A refund was reserved after it was refused');
  return known;
}

function workOf(
  scope: Scope,
  refund: Refund,
  attemptId: string,
  position: number,
  { now, sendBefore }: { now: Date; sendBefore: number },
): DueWork {
  const { refundId, items } = refund;
  const item = items[position];
  if (item === undefined) throw new Error('An attempt has no refund item');
  const { paymentIntentId, processorAccount, processorIntentId, amountCents, captures } = item;
  const attempt: RefundAttempt = {
    ...{ attemptId, refundId, paymentIntentId, processorAccount, processorIntentId, amountCents, captures },
    ...{ status: 'sending', epoch: 1, sends: 1, checks: 0, firstSentAt: now, processorRefundId: null, now },
  };
  return { kind: 'attempt', scope, attemptId, made: { attempt, refund, sendBefore } };
}

function pendingRefund(scope: Scope, requested: RequestedRefund, response: ReserveRefundResponse): Refund {
  const items = response.allocations.map((allocation) => itemOf(allocation, newId('balance_transaction')));
  const [first] = items;
  if (first === undefined) throw new Error('A refund was reserved without a card');
  const { session } = response;
  return {
    refundId: requested.refundId,
    status: 'pending',
    amountCents: sumCents(items.map(({ amountCents }) => amountCents)),
    failedCents: sumCents([]),
    paymentIntentId: first.paymentIntentId,
    checkoutSessionId: session?.checkoutSessionId ?? null,
    customerId: response.customerId ?? null,
    subscriptionId: requested.subscriptionId ?? response.subscriptionId ?? null,
    invoiceId: requested.invoiceId ?? response.invoiceId ?? null,
    reason: requested.reason,
    metadata: requested.metadata,
    reference: { id: null, type: null, status: null },
    balanceTransactionId: first.balanceTransactionId,
    failureBalanceTransactionId: null,
    createdAt: new Date(Number(response.atMs)),
    testMode: scope.testMode,
    items,
  };
}

function itemOf(
  allocation: RefundAllocation,
  balanceTransactionId: string,
): RefundItem & { readonly balanceTransactionId: string } {
  return {
    paymentIntentId: allocation.paymentIntentId,
    paymentMethodId: allocation.paymentMethodId,
    chargeId: allocation.chargeId,
    processorAccount: processorAccountOf(allocation),
    processorIntentId: allocation.processorIntentId,
    amountCents: centsFromInt64(allocation.amountCents),
    status: 'pending',
    endStatus: null,
    reference: { id: null, type: null, status: null },
    balanceTransactionId,
    captures: allocation.captures.map((part) => ({
      captureId: part.captureId,
      amountCents: centsFromInt64(part.amountCents),
    })),
  };
}

/** Where the money of an allocation is; null where checkout has not stored it. */
export function processorAccountOf({ processor, processorAccount }: RefundAllocation): ProcessorAccount | null {
  if (processorAccount === undefined || (processor !== 'sandbox' && processor !== 'stripe')) return null;
  return { processor, account: processorAccount };
}
