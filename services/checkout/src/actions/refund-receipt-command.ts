import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import { IssueRefundReceiptSchema } from '@eligo/proto/events/v1/events';
import type { Refund } from '@eligo/proto/refunds/v1/refunds';
import { present } from '@eligo/values';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { sessionMessage } from '../messages/session.ts';
import { kindsOfChargedCards } from '../store/charged-cards.ts';
import { findIntents } from '../store/payment-intents.ts';
import { findPaymentMethods } from '../store/payment-methods.ts';
import { loadRefundedLines } from '../store/refunded-lines.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { loadSession } from '../store/sessions.ts';
import { inOrder, purchasedAt, shopperOf, wantsReceipt } from './receipt-command.ts';

/**
 * Has billing issue the receipt of a refund that is decided, if the shopper of its session gets receipts. It says what stands of the refund now, and not
 * what the event says: events of one refund may be handled in another order than they were told, and the last one handled must not be wrong. Billing issues
 * one for each amount.
 */
export async function askForRefundReceipt(tx: Tx, scope: Scope, refund: Refund, at: Date): Promise<void> {
  const { refundId, checkoutSessionId, status } = refund;
  if (checkoutSessionId === undefined || !decided.includes(status)) return;
  const session = await loadSession(tx, scope, checkoutSessionId);
  if (session === undefined || !wantsReceipt(session)) return;
  const parts = await loadRefundedLines(tx, scope, refundId);
  const intents = await findIntents(tx, scope, [...new Set(parts.map(({ paymentIntentId }) => paymentIntentId))]);
  const [methods, kinds, lines] = await Promise.all([
    findPaymentMethods(
      tx,
      scope,
      intents.flatMap(({ paymentMethodId }) => paymentMethodId ?? []),
    ),
    kindsOfChargedCards(
      tx,
      scope,
      intents.map(({ id }) => id),
    ),
    loadSessionLines(tx, scope, session.id),
  ]);
  const command = create(IssueRefundReceiptSchema, {
    session: sessionMessage(scope, session),
    refundId,
    amountCents: BigInt(parts.reduce((sum, { amountCents }) => sum + amountCents, 0)),
    items: parts.map(({ lineId, paymentIntentId, amountCents }) => {
      const line = lines.find(({ id }) => id === lineId);
      const eligibility = (line?.amountEligibleCents ?? 0) > 0 ? line?.eligibilityClass : null;
      return {
        amountCents: BigInt(amountCents),
        paymentIntentId,
        ...present({ description: line?.description, eligibility }),
      };
    }),
    cards: intents.map((intent) => {
      const card = methods.find(({ id }) => id === intent.paymentMethodId)?.card;
      const own = parts.filter(({ paymentIntentId }) => paymentIntentId === intent.id);
      return {
        paymentIntentId: intent.id,
        amountCents: BigInt(own.reduce((sum, { amountCents }) => sum + amountCents, 0)),
        leg: intent.leg,
        cardKind: kinds.get(intent.id) ?? 'unknown',
        ...present({ cardBrand: card?.brand, cardLast4: card?.last4 }),
      };
    }),
    merchantName: session.details.receiptMerchantName ?? '',
    purchasedAtMs: BigInt((await purchasedAt(tx, scope, await paidBy(tx, scope, session), at)).getTime()),
    atMs: BigInt(at.getTime()),
    ...(await shopperOf(tx, scope, session, inOrder(intents, methods))),
  });
  const object = { case: 'issueRefundReceipt', value: command } as const;
  await append(tx, { ...scope, type: 'command.receipt.refund', aggregateId: refundId, at, object });
}

// As the receipt of the purchase says it.
async function paidBy(tx: Tx, scope: Scope, session: Session): Promise<PaymentIntent[]> {
  const intents = await findIntents(tx, scope, session.paymentIntentIds);
  return intents.filter(({ amountReceivedCents }) => amountReceivedCents > 0);
}

const decided = ['succeeded', 'failed', 'canceled'];
