import { fillTables, seededEvents, type TestDatabase } from '@eligo/testkit';
import { insertsOf, rowsOf, type SeedMetadata } from './seed.ts';

/** Fills every table with `each` records of the seeded account and a fifth of them of another, without triggers. */
export async function seedCatalog(test: TestDatabase, each: number): Promise<void> {
  const rows = rowsOf([each, each / 5]);
  await fillTables(test, 'catalog', [
    ...insertsOf(rows, each, metadata),
    ...Object.entries(metadata.prices).map(
      ([key, value]) => `price_metadata (account_id, test_mode, key, value, listing, price_id)
        select account, true, '${key}', ${value}, 'active', 'fprice_' || id ${rows}`,
    ),
    ...Object.entries(metadata.products).map(
      ([key, value]) => `product_metadata (account_id, test_mode, key, value, product_id)
        select account, true, '${key}', ${value}, 'fprod_' || id ${rows}`,
    ),
    ...seededEvents(each),
  ]);
}

/** A pair that one price has, one that a tenth has, and one that all have; the tables of pairs are most of what is seeded. */
const metadata: SeedMetadata = {
  prices: { size: "'s' || n % 10", sku: "'k' || n", shop: "'one'" },
  products: { brand: "'b' || n % 5" },
};
