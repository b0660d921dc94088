import { afterCommit, finishKeyOfAttempt, type Scope, type Tx, withTx } from '@eligo/postgres';
import type { RefundAllocation, ReserveRefundResponse } from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64, newId, sumCents } from '@eligo/values';
import type { Refund, RefundItem, RequestedRefund } from '../domain/refund.ts';
import { book, insertBalanceTransaction } from '../store/money.ts';
import { insertAttempts } from '../store/refund-attempts.ts';
import { insertItems } from '../store/refund-items.ts';
import { findRefund, makePending as setPending } from '../store/refunds.ts';
import type { Refunds } from './context.ts';
import { answerOf } from './refund-answer.ts';
import { appendRefundEvent } from './refund-events.ts';

/**
 * Makes a reserved refund pending: its parts, an attempt for each, the movements, the event and the answer under its key, in one transaction.
 * Whoever comes second finds it done. Answers the refund.
 */
export function makePending(
  refunds: Refunds,
  scope: Scope,
  requested: RequestedRefund,
  response: ReserveRefundResponse,
): Promise<Refund> {
  const refund = pendingRefund(scope, requested, response);
  return withTx(refunds.database, scope, async (tx) => {
    if (!(await setPending(tx, scope, refund))) {
      const known = await findRefund(tx, scope, refund.refundId);
      if (known === undefined) throw new Error('a refund was reserved after it had been refused');
      return known;
    }
    await writePending(refunds, tx, scope, refund, response);
    return refund;
  });
}

async function writePending(
  refunds: Refunds,
  tx: Tx,
  scope: Scope,
  refund: Refund,
  { session }: ReserveRefundResponse,
): Promise<void> {
  const { refundId, checkoutSessionId, createdAt: at } = refund;
  const attempts = refund.items.map((item) => ({ ...item, refundId, attemptId: newId('charge_attempt') }));
  const causes = refund.items.map((item) => ({ ...item, refundId, kind: 'refund_pending' as const }));
  await Promise.all([
    insertItems(tx, scope, refundId, refund.items),
    insertAttempts(tx, scope, attempts, refunds.budgets.leaseMs),
    book(tx, scope, causes, at),
    insertBalanceTransaction(tx, scope, {
      balanceTransactionId: refund.balanceTransactionId,
      type: 'refund',
      amountCents: -refund.amountCents,
      status: 'pending',
      sourceId: refundId,
      checkoutSessionId,
      at,
    }),
    appendRefundEvent(tx, scope, 'refund.created', refund, at),
    finishKeyOfAttempt(tx, scope, refundId, answerOf(refund, session)),
  ]);
  afterCommit(tx, () =>
    refunds.wake(attempts.map(({ attemptId }) => ({ kind: 'attempt', scope, attemptId, epoch: 1 }))),
  );
}

function pendingRefund(scope: Scope, requested: RequestedRefund, response: ReserveRefundResponse): Refund {
  const items = response.allocations.map(itemOf);
  const [first] = items;
  if (first === undefined) throw new Error('a refund was reserved on no card');
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
    balanceTransactionId: newId('balance_transaction'),
    failureBalanceTransactionId: null,
    createdAt: new Date(Number(response.atMs)),
    testMode: scope.testMode,
    items,
  };
}

function itemOf(allocation: RefundAllocation): RefundItem {
  return {
    paymentIntentId: allocation.paymentIntentId,
    paymentMethodId: allocation.paymentMethodId,
    chargeId: allocation.chargeId,
    processorIntentId: allocation.processorIntentId,
    amountCents: centsFromInt64(allocation.amountCents),
    status: 'pending',
    endStatus: null,
    reference: { id: null, type: null, status: null },
  };
}
