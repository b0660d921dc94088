import {
  growths,
  probeStatements,
  type Readings,
  readInSmallAndLarge,
  seededAccount,
  seededId,
  statementsNotRun,
  type TestDatabase,
  vacuumDeleted,
} from '@eligo/testkit';
import { beforeAll, expect, test } from 'vitest';
import { catalogService } from '../src/service.ts';
import { findAbandonedCoupons } from '../src/store/abandoned-coupons.ts';
import { findAbandonedLines } from '../src/store/abandoned-lines.ts';
import { findCartRecords, findPricesForProducts } from '../src/store/carts.ts';
import { listComponents } from '../src/store/components.ts';
import { listCoupons } from '../src/store/coupons.ts';
import { listPrices } from '../src/store/price-list.ts';
import { listProducts } from '../src/store/products.ts';
import { listPromoCodes } from '../src/store/promo-codes.ts';
import { listShippingRates } from '../src/store/shipping-rates.ts';
import { couponOfMany, customerOfMany, ofManyPrices, seedCatalog, soldInCarts } from './growth-seed.ts';
import { exerciseWrites } from './growth-writes.ts';

let read: { small: Readings; large: Readings };
beforeAll(async () => {
  read = await readInSmallAndLarge({ service: catalogService, seed: seedCatalog, run });
}, 240_000);

test('every statement of the store is run on the large account, but for those of an import', () => {
  expect(statementsNotRun(read.large).filter((name) => ofAccounts.test(name))).toEqual([]);
});

test('no statement reads more in a large account than in a small one', () => {
  // By pairs and a product or a state: so many of the newest that have the pairs and of those that are so, at most (pair-candidates.ts).
  const looks = /^(prices\.list\.product|products\.list(\.active)?)\.([123])\b/;
  expect(growths(read.small, read.large, [{ statement: looks, rows: 12_500 }])).toEqual([]);
});

// An import reads its own staging tables and the whole current list, which belongs to no account: that is its work.
const ofAccounts = /^(?!product_codes\.(import_lock|stage|compare|close|open)|events\.|service_|idempotency\.|test\.)/;

async function run(place: TestDatabase): Promise<void> {
  const database = place.open('catalog', { statementTimeoutMs: 30_000 });
  const scope = { accountId: seededAccount, testMode: true };
  const nobody = { startingAfter: undefined, endingBefore: undefined };
  for (const side of [{}, { startingAfter: 501 }, { endingBefore: 501 }]) {
    const page = (prefix: string) => ({
      ...{ limit: 10, offset: 0, ...nobody },
      ...Object.fromEntries(Object.entries(side).map(([name, number]) => [name, seededId(prefix, number)])),
    });
    for (const metadata of [{}, { shop: 'one' }, { size: 's1' }, { sku: 'k501' }]) {
      for (const productId of [undefined, seededId('fprod', 501)]) {
        for (const lookupKeys of [[], ['sku-501']])
          await listPrices(database, scope, page('fprice'), { active: true, productId, lookupKeys, metadata });
      }
    }
    for (const metadata of [{}, { brand: 'b1' }]) {
      for (const active of [undefined, true]) {
        for (const clientReferenceId of [undefined, 'ref 501'])
          await listProducts(database, scope, page('fprod'), { active, clientReferenceId, metadata });
      }
    }
    const clientReferenceId = undefined;
    for (const metadata of [{ maker: 'old' }, { any: 'one' }, { maker: 'old', any: 'one' }]) {
      for (const active of [undefined, true, false])
        await listProducts(database, scope, page('fprod'), { active, clientReferenceId, metadata });
    }
    const ofProduct = { active: true, productId: ofManyPrices, lookupKeys: [] };
    for (const metadata of [{ shop: 'one' }, { cut: 'y' }, { shop: 'one', cut: 'x' }, { shop: 'one', size: 's1' }])
      await listPrices(database, scope, page('fprice'), { ...ofProduct, metadata });
    for (const active of [undefined, true]) await listShippingRates(database, scope, page('fshr'), active);
    for (const reference of [undefined, 'ref 501']) await listComponents(database, scope, page('fcn'), reference);
    await listCoupons(database, scope, page('fcoup'));
    for (let bits = 0; bits < 16; bits++) {
      await listPromoCodes(database, scope, page('fpromo'), {
        codeKey: bits & 1 ? 'code501' : undefined,
        couponId: bits & 2 ? seededId('fcoup', 501) : undefined,
        customerId: bits & 4 ? seededId('fcus', 501) : undefined,
        active: bits & 8 ? true : undefined,
      });
    }
    for (const couponId of [undefined, couponOfMany]) {
      for (const customerId of [undefined, customerOfMany]) {
        for (const active of [undefined, true, false])
          await listPromoCodes(database, scope, page('fpromo'), { codeKey: undefined, couponId, customerId, active });
      }
    }
  }
  const ids = (prefix: string) => [1, 501, 901].map((number) => seededId(prefix, number));
  const shippingRateId = seededId('fshr', 1);
  await findCartRecords(database, scope, [{ priceIds: ids('fprice'), ownIds: ids('fprice'), shippingRateId }]);
  await findPricesForProducts(database, scope, [...ids('fprod'), soldInCarts]);
  await findAbandonedCoupons(database, new Date(), 10);
  await findAbandonedLines(database, new Date(), 10);
  await exerciseWrites(place);
  // What these do not run, with made-up values. The database refuses some of the values of what they do run.
  await probeStatements(place, 'catalog', ofAccounts);
  // While all of the account's are for sale, as often as a connection needs to keep its plan.
  const tables = ['products', 'promo_codes', 'shipping_rates'].map((table) => `catalog.${table}`);
  await place.admin(
    `set local session_replication_role = replica; ${tables.map((table) => `delete from ${table} where not active`).join('; ')}`,
  );
  await vacuumDeleted(place, tables);
  const first = { limit: 10, offset: 0, ...nobody };
  for (let times = 0; times < 8; times += 1) {
    await listProducts(database, scope, first, { active: false, clientReferenceId: undefined, metadata: {} });
    await listShippingRates(database, scope, first, false);
    await listPromoCodes(database, scope, first, {
      ...{ codeKey: undefined, couponId: undefined, customerId: undefined },
      active: false,
    });
  }
}
