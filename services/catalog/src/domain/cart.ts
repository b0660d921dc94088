import type { CouponInput } from './coupon.ts';
import type { Loc } from './field-rules.ts';
import type { PriceInput } from './price.ts';
import type { ProductInput } from './product.ts';

/** A line as the partner gave it. */
export type CartLine =
  | { readonly kind: 'price'; readonly priceId: string }
  | { readonly kind: 'product'; readonly productId: string }
  | { readonly kind: 'price_data'; readonly priceData: PriceData };

/** A price that a line brings with it, of an existing product or of one that it brings too. */
export interface PriceData {
  readonly owner: { readonly productId: string } | { readonly productData: ProductInput };
  readonly unitAmountCents: bigint;
  readonly recurring: PriceInput['recurring'];
  readonly hsaFsaEligibility: string | null;
}

/** A discount as the partner gave it. */
export type CartDiscount =
  | { readonly kind: 'coupon_id'; readonly couponId: string }
  | { readonly kind: 'promo_code_id'; readonly promoCodeId: string }
  | { readonly kind: 'promo_code'; readonly code: string }
  | { readonly kind: 'coupon_data'; readonly coupon: CouponInput };

/** What a session wants resolved. */
export interface Cart {
  readonly sessionId: string;
  readonly lines: readonly CartLine[];
  readonly shippingRateId: string | undefined;
  readonly discounts: readonly CartDiscount[];
  readonly customerId: string | null;
  readonly at: Date;
  /** Whether ActivateInline is going to be called for coupon_data, too, so that its coupons can wait for it. */
  readonly activatesCoupons: boolean;
  /** Reservations that are released before this session reserves, so that what they hold of limits counts as free. */
  readonly inPlaceOf: readonly string[];
  /** Prices that the subscription has already, which may be archived. */
  readonly heldPriceIds: readonly string[];
  readonly places: CartPlaces;
}

/** Where the parts of a cart stand in the partner's body. */
export interface CartPlaces {
  line(index: number): Loc;
  discount(index: number): Loc;
  readonly shippingRate: Loc;
}

/** The places under the path of the record, or of its lines (…, line_items or items). */
export function cartPlaces(bodyPath: readonly string[]): CartPlaces {
  const path = bodyPath.length === 0 ? ['body', 'checkout_session'] : bodyPath;
  const last = path.at(-1);
  const endsInLines = last === 'line_items' || last === 'items';
  const record = endsInLines ? path.slice(0, -1) : path;
  const lines = endsInLines ? path : [...path, 'line_items'];
  return {
    line: (index) => [...lines, String(index)],
    discount: (index) => [...record, 'discounts', String(index)],
    shippingRate: [...record, 'shipping_options', 'shipping_rate_id'],
  };
}
