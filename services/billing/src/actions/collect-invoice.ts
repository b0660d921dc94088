import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { ChargeInvoiceResponse } from '@eligo/proto/checkout/v1/checkout';
import type { Cents } from '@eligo/values';
import type { Context } from '../context.ts';
import { isRefusedForGood } from '../domain/dunning.ts';
import { type Bucket, bucketsOf } from '../domain/eligible-classes.ts';
import type { Invoice, InvoiceCharge } from '../domain/invoice.ts';
import { newCharge } from '../domain/new-charge.ts';
import { nextCharge } from '../domain/payment-shares.ts';
import { isOwnCard, type Subscription } from '../domain/subscription.ts';
import { owingStatuses } from '../domain/subscription-states.ts';
import {
  findMeanwhile,
  findPendingCharge,
  insertInvoiceCharge,
  loadInvoiceCharges,
  noteNewCard,
} from '../store/invoice-charges.ts';
import { loadInvoiceLines } from '../store/invoice-lines.ts';
import { findInvoice, lockInvoice, saveInvoice } from '../store/invoices.ts';
import { loadInvoiceCredits } from '../store/prorations.ts';
import { findSubscription, lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { wasUpdatedSince } from '../store/updated-cards.ts';
import { endSubscription } from './end-subscription.ts';
import { cardsOf, isCustomerThere, payerOf } from './payer.ts';
import {
  type ChargeOutcome,
  newCardDueAt,
  otherCardPays,
  recordFailure,
  recordOutcome,
  updatedExcept,
} from './record-payment.ts';
import { wakeWhenDue } from './wake-when-due.ts';

// Two legs, each of which may have been taken over by another charge; more is a bug.
const mostCharges = 6;

/**
 * Charges what is left of a subscription's open invoice, card by card. Each charge is a row before checkout is asked, and its outcome is recorded after: a
 * crash in between is resumed with the same operation, which checkout answers and does not charge again. `unknown` means that the outcome of a charge is not
 * known: it is asked again, and until then nothing else is charged. A charge that waits for its customer is asked for once they have authenticated.
 */
export async function collectInvoice(
  context: Context,
  scope: Scope,
  id: string,
  at: Date,
): Promise<'done' | 'unknown'> {
  for (let charges = 0; charges < mostCharges; charges++) {
    const subscription = await findSubscription(context.database, scope, id);
    if (subscription?.latestInvoiceId == null) return 'done';
    // Paid, or failed and to be tried again later.
    if (subscription.paymentAt === null || subscription.paymentAt > at) return 'done';
    const begun = await pendingOrNext(context, scope, subscription, at);
    if (begun === 'nothing') return 'done';
    if (begun === 'changed') continue;
    await context.failpoint('invoice_charge.begun');
    const buckets = begun.leg === 'health' ? await bucketsOfInvoice(context, scope, begun.invoiceId) : undefined;
    const outcome = await askCheckout(context, scope, subscription, begun, buckets);
    await context.failpoint('invoice_charge.answered');
    if (outcome === 'unknown') return 'unknown';
    if (outcome === 'awaits_customer') {
      if (await waitForCustomer(context, scope, subscription, at)) return 'done';
      continue;
    }
    await recordOutcome(context, scope, subscription.id, begun, outcome);
    await context.failpoint('invoice_charge.recorded');
    if (outcome.status === 'declined' && outcome.failureCode === 'payment_method_not_found') {
      await endWithoutCustomer(context, scope, subscription, at);
    }
  }
  throw new Error(`Subscription ${id} took more than ${mostCharges} charges for one invoice`);
}

// Checkout does not charge the cards of a customer who was deleted while a charge was on its way: nothing is left to try.
async function endWithoutCustomer(
  context: Context,
  scope: Scope,
  { id, customerId }: Subscription,
  at: Date,
): Promise<void> {
  if (await isCustomerThere(context, scope, customerId)) return;
  await withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before === undefined || !owingStatuses.has(before.status)) return;
    if (await findPendingCharge(tx, scope, before.latestInvoiceId ?? '')) return;
    await endSubscription(tx, scope, before, { heldUntil: null }, at);
  });
}

// Checkout's command has it charged again once there is an outcome: the command changes the subscription, and one that has changed does not begin to wait. A process of the release
// before this one settles without the command, so billing asks as well: after five minutes, and again each time that it has waited as long again. A subscription on a
// test clock is asked about when the partner asks, and at its end: its hours pass in a moment.
async function waitForCustomer(
  { database }: Context,
  scope: Scope,
  { id, version }: Subscription,
  at: Date,
): Promise<boolean> {
  return withTx(database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before?.version !== version) return false;
    const waitedMs = at.getTime() - before.createdAt.getTime();
    const askAt = new Date(at.getTime() + Math.max(waitedMs, soonestAskMs));
    const paymentAt = before.testClockId === null ? askAt : null;
    wakeWhenDue(tx, await saveSubscription(tx, scope, before, { ...before, paymentAt, heldUntil: null }), at);
    return true;
  });
}

const soonestAskMs = 5 * 60_000;

async function pendingOrNext(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  at: Date,
): Promise<InvoiceCharge | 'nothing' | 'changed'> {
  const invoiceId = subscription.latestInvoiceId ?? '';
  const pending = await findPendingCharge(context.database, scope, invoiceId);
  if (pending !== undefined) return pending;
  const known = await findInvoice(context.database, scope, invoiceId);
  const [cards, isThere] = await Promise.all([
    cardsOf(context, scope, payerOf(subscription, known)),
    isCustomerThere(context, scope, subscription.customerId),
  ]);
  return withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, subscription.id);
    if (before?.version !== subscription.version) return 'changed';
    const invoice = await lockInvoice(tx, scope, invoiceId);
    // One that has ended pays what was given up, if the partner asks for it.
    const hasEnded = before.status === 'canceled';
    if (invoice === undefined || invoice.status !== (hasEnded ? 'uncollectible' : 'open'))
      throw new Error(`Subscription ${subscription.id} owes for an invoice that is not open`);
    const charges = await loadInvoiceCharges(tx, scope, invoiceId);
    if (charges.some(({ status }) => status === 'pending')) return 'changed';
    if (!isThere && !hasEnded) {
      await endSubscription(tx, scope, before, undefined, at);
      return 'nothing';
    }
    const awaitsNewCard = await isNewCardAwaited(tx, scope, before, charges);
    const awaitsCardUntil = awaitsNewCard ? await newCardDueAt(tx, scope, before, context.clock.now()) : null;
    const next = isThere && cards !== undefined ? nextCharge(invoice, charges, cards) : undefined;
    const pageTriesWithoutCharge = invoice.pageTriesWithoutCharge + (invoice.paysOnPage ? 1 : 0);
    const counted = { ...invoice, pageTriesWithoutCharge };
    if (next === undefined || next.kind === 'no_card') {
      const failureCode = next?.failureCode ?? 'payment_method_not_found';
      const failure = invoice.healthRefused ? invoice : { ...noCard, failureCode };
      await recordFailure(tx, scope, before, counted, failure, at, { awaitsCardUntil });
      return 'nothing';
    }
    if (next.kind === 'gone') return recordRefusal(tx, scope, before, counted, next, at, awaitsCardUntil);
    const refusal = await refusalOf(tx, scope, invoice, charges, next.paymentMethodId);
    if (refusal !== undefined) return recordRefusal(tx, scope, before, invoice, refusal, at, awaitsCardUntil);
    const charge = newCharge(invoice, next, { actingAt: at, createdAt: context.clock.now() });
    await insertInvoiceCharge(tx, scope, charge);
    if (awaitsNewCard) await noteNewCard(tx, scope, charge.id);
    const updatedPaymentMethodIds = updatedExcept(invoice, charge.paymentMethodId);
    if (charge.backup || updatedPaymentMethodIds.length < invoice.updatedPaymentMethodIds.length) {
      const backupChargeStatus = charge.backup ? 'pending' : invoice.backupChargeStatus;
      await saveInvoice(tx, scope, invoice, { ...invoice, backupChargeStatus, updatedPaymentMethodIds });
    }
    return charge;
  });
}

// Whether another card was given while the last charge of this try was under way, and is to be given again. That holds for the next charges of the try, too: those of the other
// part, of the other card, and of a card that is charged at once. A try that is set for later begins after the last charge.
async function isNewCardAwaited(
  tx: Tx,
  scope: Scope,
  { paymentAt }: Subscription,
  charges: readonly InvoiceCharge[],
): Promise<boolean> {
  const last = charges.at(-1);
  if (last === undefined || paymentAt === null || paymentAt > last.actingAt) return false;
  return (await findMeanwhile(tx, scope, last.id)).awaitsNewCard;
}

// Records that a card cannot be charged, because it is gone or was refused for good. The other card pays instead where that is agreed.
async function recordRefusal(
  tx: Tx,
  scope: Scope,
  before: Subscription,
  invoice: Invoice,
  { leg, paymentMethodId, failureCode, declineCode }: Refusal,
  at: Date,
  awaitsCardUntil: Date | null,
): Promise<'changed' | 'nothing'> {
  const isOwn = isOwnCard(before, paymentMethodId);
  const refusedPaymentMethodId = isOwn ? paymentMethodId : invoice.refusedPaymentMethodId;
  const failure = { failureCode, declineCode, refusedPaymentMethodId };
  if (leg === 'health' && (await otherCardPays(tx, scope, before, invoice))) {
    await saveInvoice(tx, scope, invoice, { ...invoice, ...failure, healthRefused: true });
    return 'changed';
  }
  await recordFailure(tx, scope, before, invoice, failure, at, { awaitsCardUntil });
  return 'nothing';
}

type Refusal = Pick<InvoiceCharge, 'leg' | 'paymentMethodId' | 'failureCode' | 'declineCode'>;

// The charge by which the issuer of a card refused it for good for this invoice, unless its bank has updated it since. A card may have been named first, and be one of the
// subscription's now.
async function refusalOf(
  tx: Tx,
  scope: Scope,
  { paysOnPage }: Invoice,
  charges: readonly InvoiceCharge[],
  id: string,
): Promise<InvoiceCharge | undefined> {
  if (paysOnPage) return undefined;
  const last = charges.findLast((one) => one.paymentMethodId === id && one.status === 'declined' && !one.onPage);
  if (last === undefined || !isRefusedForGood(last.failureCode, last.declineCode)) return undefined;
  return (await wasUpdatedSince(tx, scope, last)) ? undefined : last;
}

const noCard = { declineCode: null, refusedPaymentMethodId: null };

// A refusal that checkout gives before it begins anything is as final as a decline. Anything else that goes wrong leaves the outcome unknown.
const finalRefusals: ReadonlySet<string> = new Set([
  'payment_method_not_found',
  'payment_method_from_another_processor',
  'health_cards_not_enabled',
  'checkout_amount_too_low',
  'amount_too_large',
]);

/** Asks checkout for a charge. `buckets` is what of it is for health care, where a health card pays. */
export async function askCheckout(
  context: Context,
  scope: Scope,
  subscription: Pick<Subscription, 'id' | 'customerId'>,
  charge: InvoiceCharge,
  buckets: Readonly<Record<Bucket, Cents>> | undefined,
): Promise<ChargeOutcome | 'unknown' | 'awaits_customer'> {
  try {
    const answer = await context.checkout.chargeInvoice(
      {
        operationId: charge.id,
        invoiceId: charge.invoiceId,
        subscriptionId: subscription.id,
        customerId: subscription.customerId,
        paymentMethodId: charge.paymentMethodId,
        amountCents: BigInt(charge.amountCents),
        leg: charge.leg,
        ...{ onPage: charge.onPage, withCustomer: charge.withCustomer },
        atMs: BigInt(charge.actingAt.getTime()),
        ...(buckets === undefined
          ? {}
          : {
              healthcare: {
                iiasCents: BigInt(buckets.iias),
                prescriptionCents: BigInt(buckets.prescription),
                visionCents: BigInt(buckets.vision),
                serviceCents: BigInt(buckets.service),
              },
            }),
      },
      { caller: context.callerFor(scope), timeoutMs: chargeTimeoutMs },
    );
    const { retryAfterMs } = answer;
    if (retryAfterMs !== undefined) {
      context.pace.pause(scope, new Date(context.clock.now().getTime() + Number(retryAfterMs)));
    }
    return outcomeOf(answer);
  } catch (error) {
    const refusal = error instanceof Failure ? (error.violations?.[0]?.type ?? error.code) : undefined;
    if (refusal !== undefined && finalRefusals.has(refusal)) {
      const refused = { failureCode: refusal, declineCode: null, paymentIntentId: null, chargeId: null };
      const isChosenAgain =
        refusal === 'payment_method_not_found' && (await isHealthCardNow(context, scope, subscription, charge));
      return { status: isChosenAgain ? 'abandoned' : 'declined', ...refused };
    }
    context.logger.warn(
      { err: error, subscriptionId: subscription.id },
      'Outcome of an invoice charge is unknown; will ask checkout again',
    );
    return 'unknown';
  }
}

// A card that has become known as a health card pays no other part: it was not declined, and the cards are chosen again by what they are now.
async function isHealthCardNow(
  context: Context,
  scope: Scope,
  { customerId }: Pick<Subscription, 'customerId'>,
  { leg, paymentMethodId: defaultPaymentMethodId }: InvoiceCharge,
): Promise<boolean> {
  if (leg !== 'other') return false;
  const cards = await cardsOf(context, scope, { customerId, defaultPaymentMethodId, backupPaymentMethodId: null });
  return cards?.standard?.healthCard === true;
}

async function bucketsOfInvoice({ database }: Context, scope: Scope, id: string) {
  const [lines, credits] = await Promise.all([
    loadInvoiceLines(database, scope, id),
    loadInvoiceCredits(database, scope, id),
  ]);
  return bucketsOf(lines, credits);
}

// Checkout's own budget for a charge, and what the way takes.
const chargeTimeoutMs = 9_000;

function outcomeOf(answer: ChargeInvoiceResponse): ChargeOutcome | 'unknown' | 'awaits_customer' {
  const { outcome, paymentIntent, failureCode, declineCode } = answer;
  if (answer.awaitsCustomer) return 'awaits_customer';
  if (outcome !== 'succeeded' && outcome !== 'declined' && outcome !== 'abandoned') return 'unknown';
  return {
    status: outcome,
    paymentIntentId: paymentIntent?.paymentIntentId ?? null,
    chargeId: paymentIntent?.latestChargeId ?? null,
    failureCode: failureCode ?? null,
    declineCode: declineCode ?? null,
    paidWith: paymentIntent?.paymentMethodId,
  };
}
