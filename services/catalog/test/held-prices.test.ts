import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture, refusalOf, type Shop } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture({ connections: 10 });
});
afterAll(() => on.close());

type Request = Parameters<Fixture['checkout']['resolveCart']>[0];
const resolve = (shop: Shop, priceIds: readonly string[], request: Request) =>
  on.checkout.resolveCart(
    {
      sessionId: newId('subscription'),
      lines: priceIds.map((value) => ({ item: { case: 'priceId' as const, value }, quantity: 1n })),
      bodyPath: ['body', 'subscription', 'items'],
      ...request,
    },
    shop.atCheckout,
  );

async function makePrice(shop: Shop, productId: string): Promise<string> {
  const owner = { case: 'productId', value: productId } as const;
  return (await on.gateway.createPrice({ unitAmountCents: 100n, owner }, shop)).priceId;
}

describe('the cart of a subscription', () => {
  it('has archived prices that the subscription holds already, and no others [D14.90, D14.116]', async () => {
    const shop = on.account();
    const [{ productId }, { productId: hidden }] = [
      await on.gateway.createProduct({ product: {} }, shop),
      await on.gateway.createProduct({ product: {} }, shop),
    ];
    const [held, ofHidden, other] = [
      await makePrice(shop, productId),
      await makePrice(shop, hidden),
      await makePrice(shop, productId),
    ];
    for (const id of [held, other]) await on.gateway.updatePrice({ id, active: false }, shop);
    await on.gateway.updateProduct({ id: hidden, active: false }, shop);
    const { couponId } = await on.gateway.createCoupon(
      { amountOffCents: 50n, duration: 'once', appliesTo: { prices: [held] } },
      shop,
    );
    const source = { case: 'couponId', value: couponId } as const;
    const heldPriceIds = [held, ofHidden];
    const cart = await resolve(shop, heldPriceIds, { heldPriceIds, discounts: [{ source }] });
    expect(cart.lines.map(({ price }) => [price?.priceId, price?.unitAmountCents])).toEqual([
      [held, 100n],
      [ofHidden, 100n],
    ]);
    expect(cart.discounts).toMatchObject([{ coupon: { couponId } }]);
    const refused = (index: number) => [[`body.subscription.items.${index}.price`, 'price_not_found']];
    expect(await refusalOf(resolve(shop, [held, other], { heldPriceIds }))).toEqual(refused(1));
    expect(await refusalOf(resolve(on.account(), [held], { heldPriceIds }))).toEqual(refused(0));
  });
});
