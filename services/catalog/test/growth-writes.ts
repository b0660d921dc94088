import { withTx } from '@eligo/postgres';
import { seededAccount, seededId, type TestDatabase } from '@eligo/testkit';
import { propagatePage, propagateProducts } from '../src/actions/propagate-product.ts';
import { findPricesForProducts } from '../src/store/carts.ts';
import { putOffPropagation } from '../src/store/propagating-products.ts';
import { type Fixture, openFixture, type Shop } from './fixture.ts';
import { soldInCarts } from './growth-seed.ts';

type ResolveCart = Parameters<Fixture['checkout']['resolveCart']>[0];

/** Writes what takes values that the database accepts, by the calls of partners and of checkout, in the seeded account. */
export async function exerciseWrites(place: TestDatabase): Promise<void> {
  const on = await openFixture({ place, statementTimeoutMs: 30_000 });
  const shop = on.account({ accountId: seededAccount });
  await writeRecords(on, shop);
  await redeem(on, shop);
  await archive(on, shop);
}

async function writeRecords({ gateway }: Fixture, shop: Shop): Promise<void> {
  const metadata = { brand: 'b1', any: 'one' };
  const { componentId } = await gateway.createComponent({ name: 'Component of growth' }, shop);
  const product = { name: 'Plaster', clientReferenceId: 'ref of growth', components: [componentId], metadata };
  const { productId } = await gateway.createProduct({ product }, shop);
  const owner = { case: 'productId', value: productId } as const;
  const facts = { unitAmountCents: 100n, metadata: { shop: 'one', size: 's1' } };
  const { priceId } = await gateway.createPrice({ ...facts, owner, lookupKey: 'of growth' }, shop);
  // The key of another product's price moves to it.
  await gateway.updatePrice({ id: priceId, lookupKey: 'sku-501', transferLookupKey: true }, shop);
}

// A session that brings all parts with it and is given up, and one that is paid.
async function redeem({ gateway, checkout }: Fixture, shop: Shop): Promise<void> {
  const appliesTo = { products: [seededId('fprod', 501)] };
  const { couponId } = await gateway.createCoupon({ percentOffBasisPoints: 3_000, appliesTo }, shop);
  const { promoCodeId } = await gateway.createPromoCode({ couponId, code: 'GROWTH' }, shop);
  const discounts: ResolveCart['discounts'] = [
    { source: { case: 'promoCodeId', value: promoCodeId } },
    { source: { case: 'couponData', value: { amountOffCents: 1n, appliesTo } } },
  ];
  for (const [number, end] of (['releaseRedemption', 'finalizeRedemption'] as const).entries()) {
    const sessionId = seededId('fcs', 9_000_000 + number);
    const owner = { case: 'productData', value: { name: 'Inline' } } as const;
    const lines: ResolveCart['lines'] = [
      { item: { case: 'priceId', value: seededId('fprice', 501) }, quantity: 1n },
      { item: { case: 'priceData', value: { unitAmountCents: 200n, owner } }, quantity: 1n },
    ];
    await checkout.resolveCart({ sessionId, lines, discounts, activatesCoupons: true }, shop.atCheckout);
    await checkout.reserveRedemption({ sessionId, promoCodeIds: [promoCodeId] }, shop.atCheckout);
    await checkout.activateInline({ sessionId }, shop.atCheckout);
    await checkout[end]({ sessionId }, shop.atCheckout);
  }
}

// A product of many prices is archived, and a page of them follows. It comes back, and a cart names it before its prices are listed.
async function archive({ gateway, database }: Fixture, shop: Shop): Promise<void> {
  const scope = { accountId: shop.accountId, testMode: true };
  await gateway.updateProduct({ id: soldInCarts, active: false }, shop);
  const outcome = await propagatePage({ database }, scope, soldInCarts);
  if (outcome !== 'more') throw new Error(`The page of the product of many prices is ${outcome}`);
  // Products with a price each are done with their first page.
  const fail = (error: unknown) => {
    throw error;
  };
  await propagateProducts({ database }, scope, new AbortController().signal, fail);
  await gateway.updateProduct({ id: soldInCarts, active: true }, shop);
  await findPricesForProducts(database, scope, [soldInCarts]);
  await withTx(database, scope, (tx) =>
    putOffPropagation(tx, scope, { productId: soldInCarts, tries: 0, changedBy: '3' }, [10_000]),
  );
}
