import { make, newCard, newCustomer, openShop, text } from '@eligo/e2e';
import type { Api } from '@eligo/testkit';

/** A catalog for three-line sessions, and for each connection a customer with a health card, so that none waits for another's lock. */
export interface BenchShop {
  readonly rateId: string;
  readonly priceIds: readonly string[];
  readonly shoppers: readonly Shopper[];
}

export interface Shopper {
  readonly customerId: string;
  readonly paymentMethodId: string;
}

/** Opens the shop through the public interface. */
export async function openBenchShop(api: Api, shoppers: number): Promise<BenchShop> {
  const { rateId, eligiblePriceId, otherPriceId, eligibleProductId } = await openShop(api);
  const third = await make(api, '/v1/prices', 'price', { product: eligibleProductId, unit_amount: 1_250 });
  const made: Shopper[] = [];
  for (let at = 0; at < shoppers; at += 1) {
    const customerId = await newCustomer(api, { first_name: 'Ada' });
    made.push({ customerId, paymentMethodId: await newCard(api, customerId, 'hsa') });
  }
  return { rateId, priceIds: [eligiblePriceId, otherPriceId, text(third, 'price_id')], shoppers: made };
}

/** The body that creates a session of three lines with shipping, tax and a fee. */
export function sessionBody(shop: BenchShop, shopper: Shopper) {
  return {
    checkout_session: {
      line_items: shop.priceIds.map((price, index) => ({ price, quantity: index + 1 })),
      success_url: 'https://shop.example/done?session={CHECKOUT_SESSION_ID}',
      shipping_options: { shipping_rate_id: shop.rateId },
      tax_rate: { amount: 825 },
      fees: [{ amount: 150, name: 'Handling' }],
      customer: shopper.customerId,
    },
  };
}
