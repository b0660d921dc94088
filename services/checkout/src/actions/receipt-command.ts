import { create } from '@bufbuild/protobuf';
import type { NewEvent } from '@eligo/events';
import type { Db, Scope } from '@eligo/postgres';
import { IssueReceiptSchema } from '@eligo/proto/events/v1/events';
import { present } from '@eligo/values';
import { paidLines } from '../domain/paid-lines.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session, SessionLine } from '../domain/session.ts';
import { lineItemMessage } from '../messages/line-item.ts';
import { sessionMessage } from '../messages/session.ts';
import { findCustomer } from '../store/customers.ts';
import { findPaymentMethods } from '../store/payment-methods.ts';
import { loadSessionLines } from '../store/session-lines.ts';

/** Whether the shopper of a session is mailed a receipt: the shop has asked for receipts, something was paid, and there is an address. */
export function wantsReceipt(session: Session): boolean {
  return (
    session.details.receiptMerchantName !== undefined &&
    session.customerEmail !== null &&
    session.amountReceivedCents > 0
  );
}

/**
 * The command that has billing issue and mail the receipt of a completed session, with all that the document says: what was sold, what each
 * card paid of it, and for whom. `intents` are those that paid it.
 */
export async function receiptCommand(
  db: Db,
  scope: Scope,
  session: Session,
  intents: readonly PaymentIntent[],
  at: Date,
): Promise<NewEvent> {
  const methodIds = intents.flatMap(({ paymentMethodId }) => paymentMethodId ?? []);
  const lines = await loadSessionLines(db, scope, session.id);
  const methods = await findPaymentMethods(db, scope, methodIds);
  const payments = intents.map((intent) => {
    const card = methods.find(({ id }) => id === intent.paymentMethodId)?.card;
    return {
      paymentIntentId: intent.id,
      amountCents: BigInt(intent.amountReceivedCents),
      leg: intent.leg,
      lineItemIds: linesOf(session, lines, intent),
      ...present({ cardBrand: card?.brand, cardLast4: card?.last4 }),
    };
  });
  const command = create(IssueReceiptSchema, {
    session: sessionMessage(scope, session),
    lines: lines.map(lineItemMessage),
    payments,
    email: session.customerEmail ?? '',
    merchantName: session.details.receiptMerchantName ?? '',
    atMs: BigInt(at.getTime()),
    ...present({ shopperName: await shopperName(db, scope, session) }),
  });
  const object = { case: 'issueReceipt', value: command } as const;
  return { ...scope, type: 'command.receipt.issue', aggregateId: session.id, at, object };
}

function linesOf(session: Session, lines: readonly SessionLine[], intent: PaymentIntent): string[] {
  const paid = paidLines(session, intent);
  return lines
    .filter(({ amountEligibleCents }) => paid === 'all' || (paid === 'eligible') === amountEligibleCents > 0)
    .map(({ id }) => id);
}

async function shopperName(db: Db, scope: Scope, session: Session): Promise<string | null> {
  const customer = session.customerId === null ? undefined : await findCustomer(db, scope, session.customerId);
  const { firstName, lastName } = customer ?? session.details.defaults ?? {};
  return [firstName, lastName].filter((part) => part).join(' ') || null;
}
