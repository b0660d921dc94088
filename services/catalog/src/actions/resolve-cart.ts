import { Failure, type Violation } from '@eligo/failures';
import type { Asker, Context } from '../context.ts';
import type { Cart, CartLine } from '../domain/cart.ts';
import { type EligibilityDecision, subjectOf } from '../domain/eligibility.ts';
import type { Price } from '../domain/price.ts';
import type { Product } from '../domain/product.ts';
import { badReference } from '../domain/reference.ts';
import type { ShippingRate } from '../domain/shipping-rate.ts';
import { findPricesForProducts } from '../store/carts.ts';
import { decideAll } from './decide-eligibility.ts';
import { type InlineParts, makeInline } from './make-inline.ts';
import { findDiscounts, type ResolvedDiscount, resolveDiscounts } from './resolve-discounts.ts';

/** A line with all that it stands for. */
export interface ResolvedLine {
  readonly price: Price;
  readonly product: Product;
  readonly eligibility: EligibilityDecision;
}

/** A cart with all that it stands for. */
export interface ResolvedCart {
  readonly lines: readonly ResolvedLine[];
  readonly shippingRate: ShippingRate | undefined;
  readonly discounts: readonly ResolvedDiscount[];
  /** Whether a discount is possible only once the reservations that the cart takes the place of are released. */
  readonly needsRelease: boolean;
}

/**
 * Resolves a cart: what each line costs and whether it is eligible, the shipping rate, the discounts. A cart of prices whose classes are set
 * costs one round trip. Every bad reference is refused at its place in the partner's body, all of them at once.
 */
export async function resolveCart(context: Context, asker: Asker, cart: Cart): Promise<ResolvedCart> {
  const { database, cartRecords } = context;
  const { scope } = asker;
  const [inline, byProduct] = await Promise.all([
    makeInline(context, scope, cart),
    priceIdsOfProducts(context, asker, cart.lines),
  ]);
  const priceIds = cart.lines.map((line, index) => priceIdOf(line, index, inline, byProduct));
  const wanted = [...new Set(priceIds.filter((id) => id !== undefined))];
  const [records, discountRecords] = await Promise.all([
    cartRecords.submit(scope, {
      priceIds: wanted,
      ownIds: [...inline.priceIds.values(), ...cart.heldPriceIds],
      shippingRateId: cart.shippingRateId,
    }),
    findDiscounts(database, scope, cart, inline.couponIds),
  ]);
  const violations: Violation[] = [];
  const lines = cart.lines.map((line, index) => {
    const found = records.prices.get(priceIds[index] ?? '');
    if (found === undefined) violations.push(...refusedLine(cart, line, index, byProduct));
    return found;
  });
  if (cart.shippingRateId !== undefined && records.shippingRate === undefined) {
    violations.push(
      ...violationsOf(badReference(cart.places.shippingRate, 'shipping_rate_not_found', cart.shippingRateId)),
    );
  }
  const known = lines.filter((line) => line !== undefined);
  const sold = known.map(({ price }) => price);
  const discounts = resolveDiscounts(cart, discountRecords, sold, violations);
  if (violations.length > 0) throw Failure.violations(violations);
  return {
    lines: await withEligibility(context, asker, known, cart.at),
    shippingRate: records.shippingRate,
    discounts,
    needsRelease: discounts.some(({ needsRelease }) => needsRelease),
  };
}

async function priceIdsOfProducts(
  { database }: Context,
  { scope }: Asker,
  lines: readonly CartLine[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const productIds = [...new Set(lines.flatMap((line) => (line.kind === 'product' ? [line.productId] : [])))];
  return productIds.length === 0 ? new Map() : findPricesForProducts(database, scope, productIds);
}

function priceIdOf(
  line: CartLine,
  index: number,
  inline: InlineParts,
  byProduct: ReadonlyMap<string, readonly string[]>,
): string | undefined {
  if (line.kind === 'price') return line.priceId;
  if (line.kind === 'price_data') return inline.priceIds.get(index);
  const candidates = byProduct.get(line.productId) ?? [];
  return candidates.length === 1 ? candidates[0] : undefined;
}

function refusedLine(
  cart: Cart,
  line: CartLine,
  index: number,
  byProduct: ReadonlyMap<string, readonly string[]>,
): readonly Violation[] {
  const place = cart.places.line(index);
  if (line.kind === 'price') return violationsOf(badReference([...place, 'price'], 'price_not_found', line.priceId));
  if (line.kind === 'price_data') {
    throw new Error(`Line ${index} of session ${cart.sessionId} has no inline price`);
  }
  const code = byProduct.has(line.productId) ? 'price_required' : 'product_not_found';
  return violationsOf(badReference([...place, 'product'], code, line.productId));
}

function violationsOf(failure: Failure): readonly Violation[] {
  return failure.violations ?? [];
}

async function withEligibility(
  { database }: Context,
  asker: Asker,
  lines: readonly { readonly price: Price; readonly product: Product }[],
  at: Date,
): Promise<ResolvedLine[]> {
  const subjects = lines.map(({ price, product }) => subjectOf(product, price));
  const decisions = await decideAll(database, asker, subjects, at);
  return lines.map((line, index) => {
    const eligibility = decisions[index];
    if (eligibility === undefined) throw new Error('A line has no eligibility decision');
    return { ...line, eligibility };
  });
}
