import type { ResolvedDiscount } from '@eligo/proto/catalog/v1/catalog';
import type { Call } from '@eligo/rpc';
import { centsFromInt64, type Interval } from '@eligo/values';
import type { Context } from '../context.ts';
import type { SoldPrice } from '../domain/opened-subscription.ts';
import { withLetters } from './find-letters.ts';
import { atGivenField, cartDiscountsOf, type GivenDiscount } from './redeem-discounts.ts';

/** What is to be sold, and to whom. */
export interface Cart {
  readonly subscriptionId: string;
  readonly customerId: string;
  readonly items: readonly { readonly priceId: string; readonly quantity: number }[];
  readonly discount: GivenDiscount;
  /** Prices that the subscription has already: they may be archived. */
  readonly heldPriceIds: readonly string[];
  readonly at: Date;
}

/** The prices of a cart as the catalog sells and classifies them, and its discount. Bad references are refused at their places in the partner's body. */
export async function sellPrices(
  context: Context,
  call: Call,
  cart: Cart,
): Promise<{ prices: SoldPrice[]; discount: ResolvedDiscount | undefined }> {
  const { subscriptionId, customerId, items, discount, heldPriceIds, at } = cart;
  const answer = await atGivenField(
    context.catalog.resolveCart(
      {
        sessionId: subscriptionId,
        lines: items.map(({ priceId, quantity }) => ({
          item: { case: 'priceId', value: priceId },
          quantity: BigInt(quantity),
        })),
        discounts: cartDiscountsOf(discount),
        customerId,
        atMs: BigInt(at.getTime()),
        bodyPath: ['body', 'subscription', 'items'],
        heldPriceIds: [...heldPriceIds],
      },
      call,
    ),
    discount.promoCode !== null,
  );
  const classified = answer.lines.map(({ product, eligibility }) => ({
    productId: product?.productId ?? null,
    decision: {
      eligibility: eligibility?.hsaFsaEligibility ?? null,
      rule: eligibility?.rule ?? 'none',
      ruleVersion: eligibility?.ruleVersion ?? '',
      rationale: eligibility?.rationale ?? '',
    },
  }));
  const decisions = await withLetters(context, call.scope, customerId, classified, at);
  const prices = answer.lines.map(({ price, product }, index): SoldPrice => {
    const eligibility = decisions[index];
    if (price === undefined || product === undefined || eligibility === undefined) {
      throw new Error('The catalog resolved a cart without a line');
    }
    const { recurring } = price;
    return {
      priceId: price.priceId,
      productId: product.productId,
      unitAmountCents: centsFromInt64(price.unitAmountCents),
      eligibility,
      recurring:
        recurring === undefined
          ? null
          : {
              interval: recurring.interval as Interval,
              intervalCount: recurring.intervalCount,
              trialDays: recurring.trialPeriodDays ?? 0,
            },
    };
  });
  return { prices, discount: answer.discounts[0] };
}
