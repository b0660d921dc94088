import { type JsonValue, toJson } from '@bufbuild/protobuf';
import type { Scope, Tx } from '@eligo/postgres';
import { DiscountSchema } from '@eligo/proto/checkout/v1/checkout';
import type { StartSubscription } from '@eligo/proto/events/v1/events';
import { centsFromInt64, type Interval } from '@eligo/values';
import { newSubscription, type SoldSubscription } from '../domain/new-subscription.ts';
import { isErased, lockReceipts } from '../store/erased-sessions.ts';
import { insertInvoice } from '../store/invoices.ts';
import { insertSubscription } from '../store/subscriptions.ts';
import { appendInvoiceEvent, appendSubscriptionEvent } from './billing-events.ts';
import { wakeWhenDue } from './wake-when-due.ts';

/** Makes the subscription of a completed session and its first invoice under the ids that the session carries; a second time does nothing. */
export async function startSubscription(tx: Tx, scope: Scope, command: StartSubscription): Promise<void> {
  const sold = soldOf(command);
  const metadata = await copiedMetadata(tx, scope, sold);
  const { subscription, invoice } = newSubscription({ ...sold, metadata });
  if (!(await insertSubscription(tx, scope, subscription))) return;
  await insertInvoice(tx, scope, invoice);
  wakeWhenDue(tx, subscription, sold.at);
  await appendSubscriptionEvent(tx, scope, 'created', subscription, sold.at);
  // It was paid with its session, so that it passes through all its states at once.
  for (const type of ['created', 'finalized', 'paid'] as const) {
    await appendInvoiceEvent(tx, scope, type, invoice, sold.at);
  }
}

// An erasure that comes first leaves nothing to copy, and one that comes later finds the copy.
async function copiedMetadata(tx: Tx, scope: Scope, { sessionId, metadata }: SoldSubscription) {
  if (Object.keys(metadata).length === 0) return metadata;
  await lockReceipts(tx, scope, [sessionId]);
  return (await isErased(tx, scope, sessionId)) ? {} : metadata;
}

function soldOf(command: StartSubscription): SoldSubscription {
  const { session, paymentIntent } = command;
  if (session?.customerId === undefined) throw new Error(`The session of ${command.subscriptionId} has no customer`);
  const data = session.subscriptionData;
  return {
    subscriptionId: command.subscriptionId,
    invoiceId: command.invoiceId,
    sessionId: session.checkoutSessionId,
    customerId: session.customerId,
    testClockId: command.testClockId ?? null,
    at: new Date(Number(command.atMs)),
    lines: command.lines.map((line) => ({
      priceId: line.priceId,
      productId: line.productId,
      quantity: Number(line.quantity),
      unitAmountCents: centsFromInt64(line.unitAmountCents),
      taxCents: centsFromInt64(line.amountTaxCents),
      shippingCents: centsFromInt64(line.amountShippingCents),
      totalCents: centsFromInt64(line.amountTotalCents - line.amountFeeCents),
      isEligible: line.amountEligibleCents > 0n,
      rule: line.eligibility?.rule ?? null,
      recurring:
        line.recurring === undefined
          ? null
          : {
              interval: line.recurring.interval as Interval,
              intervalCount: line.recurring.intervalCount,
              trialDays: line.recurring.trialPeriodDays ?? 0,
            },
    })),
    receivedCents: centsFromInt64(session.amountReceivedCents),
    isPaidWhole: session.amountReceivedCents === command.lines.reduce((sum, line) => sum + line.amountTotalCents, 0n),
    trialEnd: data?.trialEndMs === undefined ? null : new Date(Number(data.trialEndMs)),
    trialDays: data?.trialPeriodDays ?? null,
    cancelAt: data?.cancelAtMs === undefined ? null : new Date(Number(data.cancelAtMs)),
    cancelAtPeriodEnd: data?.cancelAtPeriodEnd ?? false,
    missingPaymentMethod: data?.missingPaymentMethod ?? null,
    defaultPaymentMethodId: command.defaultPaymentMethodId ?? null,
    backupPaymentMethodId: command.backupPaymentMethodId ?? null,
    paymentIntentId: paymentIntent?.paymentIntentId ?? null,
    chargeId: paymentIntent?.latestChargeId ?? null,
    discounts: session.discounts.map(
      (discount): JsonValue => toJson(DiscountSchema, { ...discount, subscriptionId: command.subscriptionId }),
    ),
    metadata: { ...session.metadata },
  };
}
