import { Failure, type Violation } from '@eligo/failures';
import type { Scope, Tx } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import { sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import { laterPeriodCents, nextPeriodCents, refuseLarger, refuseTooLarge } from '../domain/charge-limit.ts';
import type { StoredDiscount } from '../domain/discounts.ts';
import { changeItems, invoiceOfChange, type PricedItems } from '../domain/item-change.ts';
import { type AskedItem, matchItems } from '../domain/item-match.ts';
import { nothingTakenBack } from '../domain/kept-share.ts';
import { duePending, isTooMuch } from '../domain/proration.ts';
import type { Subscription } from '../domain/subscription.ts';
import { insertProrations, pendingProrations } from '../store/prorations.ts';
import { changeNotNow } from './change-subscription.ts';
import { eligibilityAt } from './judge-items.ts';
import { readKeptShare } from './read-kept-share.ts';
import { sellPrices } from './sell-prices.ts';
import { writeInvoice } from './write-invoice.ts';

/**
 * The items that a subscription is to have, priced and classified as of now; undefined if it has them already. A price that it has keeps what was agreed, also if it is
 * archived by now; any other is sold as the catalog sells it. Bad references are refused at their places in the partner's body.
 */
export async function priceItems(
  context: Context,
  call: Call,
  known: Subscription,
  asked: readonly AskedItem[],
  at: Date,
): Promise<PricedItems | undefined> {
  const match = matchItems(known.items, asked);
  if (match === undefined) return undefined;
  const wanted = match.items.flatMap(({ priceId, quantity, isNewPrice }, place) =>
    isNewPrice ? [{ priceId, quantity, place }] : [],
  );
  const discount = { couponId: null, promoCode: null };
  const cart = {
    subscriptionId: known.id,
    customerId: known.customerId,
    items: wanted,
    discount,
    heldPriceIds: [],
    at,
  };
  const [sold, before, kept] = await Promise.all([
    wanted.length === 0 ? [] : atAskedPlaces(sellPrices(context, call, cart), wanted).then(({ prices }) => prices),
    eligibilityAt(context, call.scope, known, at),
    known.status === 'trialing' || known.prorationBehavior === 'none'
      ? nothingTakenBack
      : readKeptShare(context, call.scope, known, tooManyInvoices),
  ]);
  const decisionOf = (id: string) => {
    const decision = before[known.items.findIndex((item) => item.id === id)];
    if (decision === undefined) throw new Error(`Item ${id} has no eligibility decision`);
    return decision;
  };
  const prices = new Map(sold.map((price) => [price.priceId, price]));
  const items = match.items.map(({ item, priceId, quantity, isNewPrice }) => {
    const price = isNewPrice ? (prices.get(priceId) ?? null) : null;
    const eligibility = price?.eligibility ?? (item === null ? undefined : decisionOf(item.id));
    if (eligibility === undefined) throw new Error(`The catalog resolved a cart without ${priceId}`);
    return { item, price, quantity, eligibility };
  });
  return { items, removed: match.removed, before, kept };
}

/**
 * Gives a subscription its other items in the caller's transaction, with what that is worth: it is invoiced now or stays pending. `before` is its row, which the
 * caller holds and which is what was priced, and `subscription` the same with the other changes of the request. While an invoice is being charged or a renewal is due it is 503 `lock_timeout`.
 */
export async function applyItems(
  context: Pick<Context, 'pages'>,
  tx: Tx,
  scope: Scope,
  before: Subscription,
  subscription: Subscription,
  priced: PricedItems,
  at: Date,
): Promise<Subscription> {
  const { status, paymentAt, currentPeriodEnd } = before;
  const isBilled = status === 'active' || status === 'trialing';
  if (isBilled && (paymentAt !== null || currentPeriodEnd <= at)) throw changeNotNow();
  const earlier = await pendingProrations(tx, scope, subscription.id);
  // What changes of the present period is charged with the discounts that it has.
  const present = before.discounts as readonly StoredDiscount[];
  const changed = changeItems(subscription, priced, earlier, at, present);
  refuseLarger(laterPeriodCents(changed.subscription), laterPeriodCents(before));
  const pending = [...earlier, ...changed.prorations];
  if (isTooMuch(pending)) throw tooManyPending();
  const charges = pending.filter(({ kind }) => kind === 'charge');
  refuseTooLarge(sumCents([...changed.lines.map((line) => line.totalCents), ...charges.map((one) => one.leftCents)]));
  const invoiced = changed.invoicesNow ? invoiceOfChange(changed, pending, at) : null;
  // What stays pending is charged with the next period.
  if (invoiced === null) {
    refuseLarger(changed.nextCents + duePending(pending), nextPeriodCents(before) + duePending(earlier));
  }
  await insertProrations(tx, scope, changed.prorations);
  if (invoiced === null) return changed.subscription;
  await writeInvoice(context, tx, scope, invoiced.invoice, invoiced, at);
  return invoiced.subscription;
}

const tooManyInvoices = {
  loc: ['body', 'subscription', 'proration_behavior'],
  text: 'This period has too many invoices. Send none, or wait for the next renewal',
};

function tooManyPending(): Failure {
  return Failure.invalid(
    ['body', 'subscription', 'proration_behavior'],
    'value_error',
    'Too many changes are pending. Send always_invoice or none, or wait for the next renewal',
  );
}

// Only the prices that the subscription does not have are asked of the catalog, so that their places are others.
async function atAskedPlaces<Answer>(answer: Promise<Answer>, wanted: readonly { place: number }[]): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof Failure) || error.violations === undefined) throw error;
    throw Failure.violations(error.violations.map((violation) => placed(violation, wanted)));
  }
}

function placed(violation: Violation, wanted: readonly { place: number }[]): Violation {
  const [body = '', record = '', list = '', index, ...rest] = violation.loc;
  const place = list === 'items' ? wanted[Number(index)]?.place : undefined;
  return place === undefined ? violation : { ...violation, loc: [body, record, list, String(place), ...rest] };
}
