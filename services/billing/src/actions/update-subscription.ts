import { Failure } from '@eligo/failures';
import type { Scope, Tx } from '@eligo/postgres';
import type { ResolvedDiscount } from '@eligo/proto/catalog/v1/catalog';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { isPresentDiscount, type StoredDiscount } from '../domain/discounts.ts';
import { type AskedItem, matchItems } from '../domain/item-match.ts';
import { refuseMorePartnerTries } from '../domain/payment-tries.ts';
import type { Subscription } from '../domain/subscription.ts';
import { changeSubscription, paysWithNewCard, type SubscriptionChange } from '../domain/subscription-change.ts';
import { findPendingCharge, loadInvoiceCharges, noteNewCard } from '../store/invoice-charges.ts';
import { findInvoice } from '../store/invoices.ts';
import { findSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { askAwaited } from './ask-awaited.ts';
import { applyItems, priceItems } from './change-items.ts';
import { changeNotNow, changeUnderLock } from './change-subscription.ts';
import { checkNamedCards } from './check-payer.ts';
import { type GivenDiscount, keepDiscounts, releasingOnRefusal, reserveDiscount } from './redeem-discounts.ts';
import { refuseLargerPeriods } from './refuse-larger-periods.ts';
import { type Cart, sellPrices } from './sell-prices.ts';

/** What a partner asks for. */
export interface SubscriptionUpdate extends Omit<SubscriptionChange, 'discounts'> {
  readonly discount: GivenDiscount;
  readonly clearsDiscounts: boolean;
  /** All items that it is to have. */
  readonly items?: readonly AskedItem[];
}

/**
 * Changes a subscription. A new card pays at once what is owed, and a change of items what it costs now, so that the response shows the outcome. A coupon or code that it
 * has already changes nothing, and counts no other redemption.
 */
export async function updateSubscription(
  context: Context,
  call: Call,
  id: string,
  { discount, clearsDiscounts, items, ...fields }: SubscriptionUpdate,
): Promise<Subscription> {
  const { scope } = call;
  const known = await findSubscription(context.database, scope, id);
  if (known === undefined) throw new Failure('subscription_not_found');
  // Clients that send the whole object name the cards that it has.
  const asNew = (id: string | null | undefined, present: string | null) => (id === present ? undefined : id);
  await checkNamedCards(context, call, known.customerId, [
    {
      id: asNew(fields.defaultPaymentMethodId, known.defaultPaymentMethodId),
      loc: ['subscription', 'default_payment_method'],
    },
    {
      id: asNew(fields.backupPaymentMethodId, known.backupPaymentMethodId),
      loc: ['subscription', 'backup_payment_method'],
    },
  ]);
  const at = await timeOnClock(context.database, scope, context.clock, known.testClockId);
  const { couponId, promoCode } = discount;
  const replaced = clearsDiscounts ? [] : (known.discounts as readonly StoredDiscount[]);
  const isNew = promoCode !== null || (couponId !== null && !isPresentDiscount(replaced, { couponId }));
  const unreplaced = clearsDiscounts ? { ...fields, discounts: [] } : fields;
  // Refuses what cannot be changed before a redemption is counted.
  changeSubscription(known, isNew ? { ...fields, discounts: [] } : unreplaced, at);
  const given = isNew ? await newDiscount(context, call, known, { discount, replaced, items }, at) : undefined;
  const change = given === undefined ? unreplaced : { ...fields, discounts: [given] };
  const discountField = given === undefined ? 'clear' : couponId === null ? 'promo_code' : 'coupon';
  return releasingOnRefusal(context, scope, id, given, () =>
    applyUpdate(context, call, known, { change, items, discountField }, at),
  );
}

interface AskedUpdate {
  readonly change: SubscriptionChange;
  readonly items: readonly AskedItem[] | undefined;
  /** The field that asks for other discounts. */
  readonly discountField: string;
}

async function applyUpdate(
  context: Context,
  call: Call,
  known: Subscription,
  { change, items, discountField }: AskedUpdate,
  at: Date,
): Promise<Subscription> {
  const { scope } = call;
  const prorationBehavior = change.prorationBehavior ?? known.prorationBehavior;
  const priced = items && (await priceItems(context, call, { ...known, prorationBehavior }, items, at));
  await context.failpoint('subscription.items_priced');
  if (paysWithNewCard(known, change)) await askAwaited(context, scope, known, true);
  const decide = async (tx: Tx, before: Subscription, now: Date) => {
    const changed = changeSubscription(before, change, now);
    // Its items may be others than those that were priced.
    if (priced !== undefined && before.version !== known.version) throw changeNotNow();
    if (paysWithNewCard(before, change)) {
      const pending = await findPendingCharge(tx, scope, before.latestInvoiceId ?? '');
      if (pending !== undefined) {
        // The subscription does not end with it, so that the same request again finds it there.
        await noteNewCard(tx, scope, pending.id);
        return changeNotNow();
      }
      await refuseMoreTries(tx, scope, before);
    }
    const after = priced === undefined ? changed : await applyItems(context, tx, scope, before, changed, priced, now);
    if (change.discounts === undefined) return after;
    // A change of items has compared the periods with the new discounts.
    if (priced === undefined) await refuseLargerPeriods(tx, scope, before, after, discountField);
    await keepDiscounts(tx, scope, after, true);
    return after;
  };
  return changeUnderLock(context, call, known.id, decide, change.trialEnd === 'now');
}

// A new card pays at once: it is a try like one of `POST /v1/invoices/{id}/pay`.
async function refuseMoreTries(tx: Tx, scope: Scope, { latestInvoiceId }: Subscription): Promise<void> {
  const invoice = latestInvoiceId === null ? undefined : await findInvoice(tx, scope, latestInvoiceId);
  if (invoice !== undefined) refuseMorePartnerTries(invoice, await loadInvoiceCharges(tx, scope, invoice.id));
}

interface AskedDiscount {
  readonly discount: GivenDiscount;
  readonly replaced: readonly StoredDiscount[];
  readonly items: readonly AskedItem[] | undefined;
}

// It takes something off the items that the subscription is to have. Those that it has already may be archived. Undefined where the promo code is the one that it has,
// which changes nothing, also if the catalog sells it to nobody any more.
async function newDiscount(
  context: Context,
  call: Call,
  { id, customerId, items: present }: Subscription,
  { discount, replaced, items: asked }: AskedDiscount,
  at: Date,
): Promise<StoredDiscount | undefined> {
  const items = (asked && matchItems(present, asked)?.items) ?? present;
  const heldPriceIds = present.map(({ priceId }) => priceId);
  const cart = { subscriptionId: id, customerId, items, discount, heldPriceIds, at };
  const resolved = await resolveDiscount(context, call, cart, replaced);
  if (resolved === 'present') return undefined;
  const { promoCodeId } = resolved;
  if (promoCodeId !== undefined && isPresentDiscount(replaced, { promoCodeId })) return undefined;
  return reserveDiscount(context, call, { subscriptionId: id, customerId, at }, resolved);
}

async function resolveDiscount(
  context: Context,
  call: Call,
  cart: Cart,
  replaced: readonly StoredDiscount[],
): Promise<ResolvedDiscount | 'present'> {
  try {
    const { discount } = await sellPrices(context, call, cart);
    if (discount === undefined) throw new Error('The catalog resolved a cart without its discount');
    return discount;
  } catch (error) {
    const isRefused = error instanceof Failure && error.violations !== undefined;
    if (isRefused && (await isPresentCode(context, call, cart.discount, replaced))) return 'present';
    throw error;
  }
}

// The catalog knows how codes are compared. Asked last: a new code may have the name of one that was deactivated.
async function isPresentCode(
  { catalog }: Context,
  call: Call,
  { promoCode }: GivenDiscount,
  replaced: readonly StoredDiscount[],
): Promise<boolean> {
  const [{ promoCodeId } = {}, ...others] = replaced;
  if (promoCode === null || promoCodeId === undefined || others.length > 0) return false;
  const { promoCodes } = await catalog.listPromoCodes({ code: promoCode, page: { limit: mostOfOneName } }, call);
  return promoCodes.some((one) => one.promoCodeId === promoCodeId);
}

// One that is active, and those of its name that were deactivated: a page of them.
const mostOfOneName = 100n;
