import type { Scope, Tx } from '@eligo/postgres';
import type { CheckoutSession } from '@eligo/proto/checkout/v1/checkout';
import type { IssueReceipt, ReceiptAmounts, ReceiptPayment } from '@eligo/proto/events/v1/events';
import { centsFromInt64, newId } from '@eligo/values';
import type { Receipt, ReceiptContent, ReceiptShare } from '../domain/receipt.ts';
import { findTimeZone } from '../store/time-zones.ts';
import { keepReceipt, keptCard } from './keep-receipt.ts';

/** Issues the receipt of a completed session and has it mailed; once, however often the command arrives. */
export async function issueReceipt(tx: Tx, scope: Scope, command: IssueReceipt): Promise<void> {
  const { session } = command;
  if (session === undefined) throw new Error('The command has no session');
  const createdAt = new Date(Number(command.atMs));
  const receipt: Receipt = {
    id: newId('receipt'),
    checkoutSessionId: session.checkoutSessionId,
    subscriptionId: session.subscriptionId ?? null,
    refundId: null,
    email: command.email === '' ? null : command.email,
    amountCents: centsFromInt64(session.amountReceivedCents),
    content: contentOf(command, session, await findTimeZone(tx, scope)),
    createdAt,
  };
  await keepReceipt(tx, scope, receipt);
}

function contentOf(command: IssueReceipt, session: CheckoutSession, timeZone: string): ReceiptContent {
  const { payments, merchantName, shopperName = null } = command;
  return {
    merchantName,
    shopperName,
    timeZone,
    purchasedAt: new Date(Number(command.purchasedAtMs ?? command.atMs)).toISOString(),
    ...(command.purchasedAtMs === undefined || command.purchasedAtMs >= command.atMs
      ? {}
      : { chargedAt: new Date(Number(command.atMs)).toISOString() }),
    orderReference: session.clientReferenceId ?? null,
    items: command.lines.map((line) => {
      const paidBy = payments.findIndex(({ lineItemIds }) => lineItemIds.includes(line.lineItemId));
      const shares = sharesOf(line.lineItemId, payments);
      const letterId = command.letters.find(({ lineItemId }) => lineItemId === line.lineItemId)?.letterId;
      return {
        description: line.description ?? 'Item',
        quantity: Number(line.quantity),
        ...(command.partlyCapturedLineIds.includes(line.lineItemId) ? { isPart: true } : {}),
        totalCents: Number(line.amountTotalCents),
        eligibility: line.amountEligibleCents > 0n ? (line.eligibility?.hsaFsaEligibility ?? null) : null,
        paidBy: paidBy === -1 ? null : paidBy,
        ...(shares.length > 1 ? { shares } : {}),
        ...(letterId === undefined ? {} : { letterId }),
      };
    }),
    amounts: command.captured === undefined ? amountsOf(session) : capturedOf(command.captured),
    payments: payments.map(keptCard),
    testMode: session.testMode,
  };
}

// What each card paid of a line.
function sharesOf(lineItemId: string, payments: readonly ReceiptPayment[]): ReceiptShare[] {
  return payments.flatMap(({ lineItemIds, lineAmountsCents }, paidBy) => {
    const amountCents = lineAmountsCents[lineItemIds.indexOf(lineItemId)];
    return amountCents === undefined ? [] : [{ paidBy, amountCents: Number(amountCents) }];
  });
}

function amountsOf({ totalDetails, ...session }: CheckoutSession): ReceiptContent['amounts'] {
  return {
    subtotalCents: Number(session.amountSubtotalCents),
    discountCents: Number(totalDetails?.amountDiscountCents ?? 0n),
    shippingCents: Number(totalDetails?.amountShippingCents ?? 0n),
    taxCents: Number(totalDetails?.amountTaxCents ?? 0n),
    feeCents: Number(totalDetails?.amountFeeCents ?? 0n),
    totalCents: Number(session.amountTotalCents),
  };
}

function capturedOf(amounts: ReceiptAmounts): ReceiptContent['amounts'] {
  return {
    subtotalCents: Number(amounts.subtotalCents),
    discountCents: Number(amounts.discountCents),
    shippingCents: Number(amounts.shippingCents),
    taxCents: Number(amounts.taxCents),
    feeCents: Number(amounts.feeCents),
    totalCents: Number(amounts.totalCents),
  };
}
