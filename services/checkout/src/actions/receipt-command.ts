import { create } from '@bufbuild/protobuf';
import type { NewEvent } from '@eligo/events';
import type { Db, Scope } from '@eligo/postgres';
import { IssueReceiptSchema } from '@eligo/proto/events/v1/events';
import { given, present } from '@eligo/values';
import { shareOfLine } from '../domain/capture-allocation.ts';
import type { CardKind } from '../domain/card-kind.ts';
import { mostRenewals } from '../domain/hold-renewal.ts';
import type { LineTender } from '../domain/line-tenders.ts';
import { paidLines } from '../domain/paid-lines.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { PaymentMethod } from '../domain/payment-method.ts';
import type { Session, SessionLine } from '../domain/session.ts';
import { lineItemMessage } from '../messages/line-item.ts';
import { sessionMessage } from '../messages/session.ts';
import { loadCaptureStanding } from '../store/captures.ts';
import { kindsOfChargedCards } from '../store/charged-cards.ts';
import { findCustomer } from '../store/customers.ts';
import { findRenewal } from '../store/hold-renewals.ts';
import { lettersOfSession } from '../store/letters.ts';
import { loadLineTenders } from '../store/line-tenders.ts';
import { findIntent } from '../store/payment-intents.ts';
import { findPaymentMethods } from '../store/payment-methods.ts';
import { loadSessionLines } from '../store/session-lines.ts';

/** Whether a session has a receipt: the shop has asked for receipts, and something was paid. It is mailed where there is an address. */
export function wantsReceipt(session: Session): boolean {
  return session.details.receiptMerchantName !== undefined && session.amountReceivedCents > 0;
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
  knownKinds?: ReadonlyMap<string, CardKind>,
): Promise<NewEvent> {
  const methodIds = intents.flatMap(({ paymentMethodId }) => paymentMethodId ?? []);
  const all = await loadSessionLines(db, scope, session.id);
  const captured = await capturedPart(db, scope, session, all);
  const lines = captured?.lines ?? all;
  const intentIds = intents.map(({ id }) => id);
  const [methods, kinds, tenders, letters, purchased] = await Promise.all([
    findPaymentMethods(db, scope, methodIds),
    knownKinds ?? kindsOfChargedCards(db, scope, intentIds),
    intents.length > 1 ? loadLineTenders(db, scope, session.id) : [],
    lettersOf(db, scope, session, lines),
    purchasedAt(db, scope, intents, at),
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
    letters,
    payments,
    merchantName: session.details.receiptMerchantName ?? '',
    atMs: BigInt(at.getTime()),
    purchasedAtMs: BigInt(purchased.getTime()),
    partlyCapturedLineIds: captured?.partlyCapturedLineIds ?? [],
    ...(await shopperOf(db, scope, session, inOrder(intents, methods))),
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
  const feeShare = lines.reduce(
    (sum, line) => sum + shareOfLine(line, line.amountFeeCents, line.amountCapturedCents),
    0,
  );
  const { tax, shipping, discount } = captured;
  // The shop states tax and shipping, and may leave less for fees than their share.
  const fee = Math.min(feeShare, Math.max(total - tax - shipping + discount, 0));
  return {
    partlyCapturedLineIds: lines
      .filter(({ amountCapturedCents, amountTotalCents }) => amountCapturedCents < amountTotalCents)
      .map(({ id }) => id),
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

/**
 * When the shopper paid: when the last of these intents was made, whose holds may have been captured later. A hold that was renewed counts as its first one. `at`
 * where no intent paid.
 */
export async function purchasedAt(db: Db, scope: Scope, intents: readonly PaymentIntent[], at: Date): Promise<Date> {
  const times = await Promise.all(
    intents.map(async (intent) => {
      let first = intent;
      for (let renewals = 0; first.captureMethod === 'manual' && renewals < mostRenewals; renewals++) {
        const { renews } = await findRenewal(db, scope, first.id);
        const before = renews === null ? undefined : await findIntent(db, scope, renews);
        if (before === undefined) break;
        first = before;
      }
      return first.createdAt.getTime();
    }),
  );
  return times.length === 0 ? at : new Date(Math.max(...times));
}

/** The cards of these intents, in their order. */
export function inOrder(intents: readonly PaymentIntent[], methods: readonly PaymentMethod[]): PaymentMethod[] {
  return intents.flatMap(({ paymentMethodId }) => methods.find(({ id }) => id === paymentMethodId) ?? []);
}

/**
 * For whom the receipts of a session are, and where they are mailed: nowhere if the address is empty. A shopper of whom the shop says no name has that of the first
 * of the cards that paid.
 */
export async function shopperOf(
  db: Db,
  scope: Scope,
  session: Session,
  methods: readonly PaymentMethod[],
): Promise<{ email: string; shopperName?: string }> {
  const customer = session.customerId === null ? undefined : await findCustomer(db, scope, session.customerId);
  const { defaults } = session.details;
  const holders = methods.map(({ billingDetails }) => billingDetails.name);
  const shopperName = [nameOf(customer), nameOf(defaults), ...holders].find((name) => name);
  return {
    email: session.customerEmail ?? customer?.email ?? defaults?.email ?? '',
    ...(shopperName ? { shopperName } : {}),
  };
}

function nameOf(person: { readonly firstName?: string | null; readonly lastName?: string | null } | undefined): string {
  return [person?.firstName, person?.lastName].filter((part) => part).join(' ');
}
