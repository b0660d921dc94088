import { create } from '@bufbuild/protobuf';
import type { NewEvent } from '@eligo/events';
import type { Db, Scope } from '@eligo/postgres';
import { IssueReceiptSchema } from '@eligo/proto/events/v1/events';
import { given, present } from '@eligo/values';
import { shareOfLine } from '../domain/capture-allocation.ts';
import type { LineTender } from '../domain/line-tenders.ts';
import { paidLines } from '../domain/paid-lines.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session, SessionLine } from '../domain/session.ts';
import { lineItemMessage } from '../messages/line-item.ts';
import { sessionMessage } from '../messages/session.ts';
import { loadCaptureStanding } from '../store/captures.ts';
import { kindsOfChargedCards } from '../store/charged-cards.ts';
import { findCustomer } from '../store/customers.ts';
import { lettersOfSession } from '../store/letters.ts';
import { loadLineTenders } from '../store/line-tenders.ts';
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
  const all = await loadSessionLines(db, scope, session.id);
  const captured = await capturedPart(db, scope, session, all);
  const lines = captured?.lines ?? all;
  const [methods, kinds, tenders] = await Promise.all([
    findPaymentMethods(db, scope, methodIds),
    kindsOfChargedCards(
      db,
      scope,
      intents.map(({ id }) => id),
    ),
    intents.length > 1 ? loadLineTenders(db, scope, session.id) : [],
  ]);
  const payments = intents.map((intent) => {
    const card = methods.find(({ id }) => id === intent.paymentMethodId)?.card;
    return {
      paymentIntentId: intent.id,
      amountCents: BigInt(intent.amountReceivedCents),
      leg: intent.leg,
      ...linesOf(session, lines, intent, tenders),
      cardKind: kinds.get(intent.id) ?? 'unknown',
      ...present({ cardBrand: card?.brand, cardLast4: card?.last4 }),
    };
  });
  const command = create(IssueReceiptSchema, {
    session: sessionMessage(scope, session),
    lines: lines.map(lineItemMessage),
    letters: await lettersOf(db, scope, session, lines),
    payments,
    email: session.customerEmail ?? '',
    merchantName: session.details.receiptMerchantName ?? '',
    atMs: BigInt(at.getTime()),
    ...present({ shopperName: await shopperName(db, scope, session) }),
    ...given({ captured: captured?.amounts }),
  });
  const object = { case: 'issueReceipt', value: command } as const;
  return { ...scope, type: 'command.receipt.issue', aggregateId: session.id, at, object };
}

// By which letter each line is eligible that needs one.
async function lettersOf(
  db: Db,
  scope: Scope,
  session: Session,
  lines: readonly SessionLine[],
): Promise<{ lineItemId: string; letterId: string }[]> {
  const lettered = lines.filter(
    (line) => line.eligibilityClass === 'letter_of_medical_necessity' && line.amountEligibleCents > 0,
  );
  if (lettered.length === 0) return [];
  const letters = await lettersOfSession(db, scope, session.id);
  return lettered.flatMap(({ id: lineItemId, productId }) => {
    const letter = letters.get(productId);
    return letter?.status === 'approved' ? [{ lineItemId, letterId: letter.id }] : [];
  });
}

// Which lines a card paid, and how much of each where a line is paid with two.
function linesOf(
  session: Session,
  lines: readonly SessionLine[],
  intent: PaymentIntent,
  tenders: readonly LineTender[],
): { lineItemIds: string[]; lineAmountsCents?: bigint[] } {
  if (tenders.length > 0) {
    const own = tenders.filter((tender) => tender.paymentIntentId === intent.id && tender.capturedCents > 0);
    return {
      lineItemIds: own.map(({ lineId }) => lineId),
      lineAmountsCents: own.map(({ capturedCents }) => BigInt(capturedCents)),
    };
  }
  const paid = paidLines(session, intent);
  const own = lines.filter(
    ({ amountEligibleCents }) => paid === 'all' || (paid === 'eligible') === amountEligibleCents > 0,
  );
  return { lineItemIds: own.map(({ id }) => id) };
}

// Of a session of which less was captured than its total, the shopper has bought what was captured: each line is what was captured of it, and the
// amounts sum up to what the cards paid. Only a shop that captures by itself captures less.
async function capturedPart(db: Db, scope: Scope, session: Session, all: readonly SessionLine[]) {
  const { amountReceivedCents: total } = session;
  if (session.captureMethod !== 'manual' || total === session.amountTotalCents) return undefined;
  const { captured } = await loadCaptureStanding(db, scope, session.id);
  const lines = all.filter(({ amountCapturedCents }) => amountCapturedCents > 0);
  const fee = lines.reduce((sum, line) => sum + shareOfLine(line, line.amountFeeCents, line.amountCapturedCents), 0);
  const { tax, shipping, discount } = captured;
  return {
    lines: lines.map((line) => ({ ...line, amountTotalCents: line.amountCapturedCents })),
    amounts: {
      subtotalCents: BigInt(total - tax - shipping - fee + discount),
      discountCents: BigInt(discount),
      shippingCents: BigInt(shipping),
      taxCents: BigInt(tax),
      feeCents: BigInt(fee),
      totalCents: BigInt(total),
    },
  };
}

/** The name of the shopper of a session, as its receipts say it; null where none is known. */
export async function shopperName(db: Db, scope: Scope, session: Session): Promise<string | null> {
  const customer = session.customerId === null ? undefined : await findCustomer(db, scope, session.customerId);
  const { firstName, lastName } = customer ?? session.details.defaults ?? {};
  return [firstName, lastName].filter((part) => part).join(' ') || null;
}
