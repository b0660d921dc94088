import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { Cart, PriceData } from '../domain/cart.ts';
import { newCouponFields } from '../domain/coupon.ts';
import type { Loc } from '../domain/field-rules.ts';
import { newPriceFields } from '../domain/price.ts';
import type { Product } from '../domain/product.ts';
import { badReference } from '../domain/reference.ts';
import { claimInlineCoupons, findInlineCoupons, insertInlineCoupons } from '../store/coupons.ts';
import { claimInlineLine, findInlineLines } from '../store/inline-lines.ts';
import { insertPrice } from '../store/prices.ts';
import { holdProduct } from '../store/products.ts';
import { checkRestrictions } from './check-restriction.ts';
import { makeProduct } from './make-product.ts';

/** What a session's inline parts are called: price ids by line, coupon ids by discount. */
export interface InlineParts {
  readonly priceIds: ReadonlyMap<number, string>;
  readonly couponIds: ReadonlyMap<number, string>;
}

/**
 * Makes what a cart brings with it (price_data, product_data, coupon_data), all in one transaction, under the session and the index: a
 * repeated call finds what the first one made, and two at once make it once. All of it stays pending until the session commits (coupons only
 * where the caller says when that is).
 */
export async function makeInline({ database, clock }: Context, scope: Scope, cart: Cart): Promise<InlineParts> {
  const hasLines = cart.lines.some(({ kind }) => kind === 'price_data');
  const hasCoupons = cart.discounts.some(({ kind }) => kind === 'coupon_data');
  if (!hasLines && !hasCoupons) return { priceIds: new Map(), couponIds: new Map() };
  const at = clock.now();
  return withTx(database, scope, async (tx) => {
    const priceIds = new Map<number, string>();
    const couponIds = new Map<number, string>();
    if (hasLines) await makeLines(tx, scope, cart, at, priceIds);
    if (hasCoupons) await makeCoupons(tx, scope, cart, at, couponIds);
    return { priceIds, couponIds };
  });
}

async function makeLines(tx: Tx, scope: Scope, cart: Cart, at: Date, priceIds: Map<number, string>): Promise<void> {
  for (const line of await findInlineLines(tx, scope, cart.sessionId)) priceIds.set(line.lineIndex, line.priceId);
  for (const [lineIndex, line] of cart.lines.entries()) {
    if (line.kind !== 'price_data' || priceIds.has(lineIndex)) continue;
    const priceId = newId('price');
    const isMade = await makeLine(tx, scope, cart.sessionId, line.priceData, {
      lineIndex,
      priceId,
      loc: [...cart.places.line(lineIndex), 'price_data'],
      at,
    });
    if (isMade) priceIds.set(lineIndex, priceId);
  }
  if (cart.lines.every(({ kind }, index) => kind !== 'price_data' || priceIds.has(index))) return;
  // Another call made some of them at this moment; it has committed, for the claims have waited for it.
  for (const line of await findInlineLines(tx, scope, cart.sessionId)) priceIds.set(line.lineIndex, line.priceId);
}

async function makeLine(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  data: PriceData,
  made: { readonly lineIndex: number; readonly priceId: string; readonly loc: Loc; readonly at: Date },
): Promise<boolean> {
  const { lineIndex, priceId, loc, at } = made;
  const fields = newPriceFields(
    {
      description: null,
      unitAmountCents: data.unitAmountCents,
      recurring: data.recurring,
      active: false,
      lookupKey: null,
      hsaFsaEligibility: data.hsaFsaEligibility,
      metadata: {},
    },
    loc,
  );
  const productMade = 'productData' in data.owner;
  const productId = 'productData' in data.owner ? newId('product') : data.owner.productId;
  if (!(await claimInlineLine(tx, scope, sessionId, { lineIndex, priceId, productId, productMade }, at))) return false;
  const product =
    'productData' in data.owner
      ? await makeProduct(tx, scope, data.owner.productData, {
          loc: [...loc, 'product_data'],
          at,
          productId,
          pending: true,
        })
      : await existingProduct(tx, scope, productId, [...loc, 'product']);
  await insertPrice(tx, scope, fields, { priceId, product, pending: true, inline: true, at });
  return true;
}

async function existingProduct(tx: Tx, scope: Scope, id: string, loc: Loc): Promise<Product> {
  const product = await holdProduct(tx, scope, id);
  if (product === undefined || !product.active) throw badReference(loc, 'product_not_found', id);
  return product;
}

// With five statements, however many coupons there are: five hundred of two statements each held the transaction for half a second.
async function makeCoupons(tx: Tx, scope: Scope, cart: Cart, at: Date, couponIds: Map<number, string>): Promise<void> {
  const readBack = async () => {
    for (const made of await findInlineCoupons(tx, scope, cart.sessionId))
      couponIds.set(made.discountIndex, made.couponId);
  };
  await readBack();
  const missing = [...cart.discounts.entries()].flatMap(([discountIndex, discount]) => {
    if (discount.kind !== 'coupon_data' || couponIds.has(discountIndex)) return [];
    const place = [...cart.places.discount(discountIndex), 'coupon_data'];
    const fields = newCouponFields(discount.coupon, place);
    return [{ discountIndex, couponId: newId('coupon'), fields, loc: [...place, 'applies_to'] }];
  });
  await checkRestrictions(tx, scope, missing);
  const claimed = await claimInlineCoupons(tx, scope, cart.sessionId, missing, at);
  const made = missing.filter(({ discountIndex }) => claimed.has(discountIndex));
  await insertInlineCoupons(tx, scope, made, { pending: cart.activatesCoupons, at });
  for (const { discountIndex, couponId } of made) couponIds.set(discountIndex, couponId);
  if (made.length < missing.length) await readBack();
}
