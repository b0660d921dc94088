import { create } from '@bufbuild/protobuf';
import {
  type RefundItem as RefundItemMessage,
  RefundItemSchema,
  type Refund as RefundMessage,
  RefundSchema,
} from '@eligo/proto/refunds/v1/refunds';
import { amountReturned, type Refund, type RefundItem, type RefundReference } from '../domain/refund.ts';

/** A refund as other services, and the event bus, see it. */
export function refundMessage(refund: Refund): RefundMessage {
  return create(RefundSchema, {
    refundId: refund.refundId,
    paymentIntentId: refund.paymentIntentId,
    amountCents: BigInt(amountReturned(refund)),
    createdAtMs: BigInt(refund.createdAt.getTime()),
    status: refund.status,
    testMode: refund.testMode,
    metadata: refund.metadata,
    items: refund.items.map((item) => itemMessage(item, refund)),
    balanceTransactionId: refund.balanceTransactionId,
    ...referenceFields(refund.reference),
    ...(refund.reason === null ? {} : { reason: refund.reason }),
    ...(refund.subscriptionId === null ? {} : { subscriptionId: refund.subscriptionId }),
    ...(refund.invoiceId === null ? {} : { invoiceId: refund.invoiceId }),
    ...(refund.checkoutSessionId === null ? {} : { checkoutSessionId: refund.checkoutSessionId }),
    ...(refund.failureBalanceTransactionId === null
      ? {}
      : { failureBalanceTransactionId: refund.failureBalanceTransactionId }),
  });
}

// Of a refund that went through for less, the card that refused its part got nothing.
function itemMessage(item: RefundItem, refund: Refund): RefundItemMessage {
  const refused = (item.status === 'failed' || item.status === 'canceled') && refund.status === 'succeeded';
  return create(RefundItemSchema, {
    amountRefundedCents: refused ? 0n : BigInt(item.amountCents),
    paymentIntentId: item.paymentIntentId,
    paymentMethodId: item.paymentMethodId,
    ...referenceFields(item.reference),
  });
}

function referenceFields({ id, type, status }: RefundReference) {
  return {
    ...(id === null ? {} : { referenceId: id }),
    ...(type === null ? {} : { referenceType: type }),
    ...(status === null ? {} : { referenceStatus: status }),
  };
}
