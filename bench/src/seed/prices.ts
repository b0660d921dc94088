import pg from 'pg';

/** The pairs by which the bench filters: one price in forty has both. */
export const filterPairs = { shelf: '3', season: '2' } as const;

/** The id of the price at this place, counted from one; places grow as time does. */
export function priceIdAt(place: number): string {
  return `fprice_0${place.toString(16).padStart(25, '0')}`;
}

/** Gives an account this many active prices of one product, each with three pairs of metadata; the superuser's URL is needed. */
export async function seedPrices(postgresUrl: string, accountId: string, count: number): Promise<void> {
  const client = new pg.Client(postgresUrl);
  await client.connect();
  try {
    await client.query('begin');
    // A million rows in seconds: keys and pairs are right by construction, so neither is checked nor derived row by row.
    await client.query('set local session_replication_role = replica');
    await client.query(insertProduct, [accountId]);
    await client.query(insertPrices, [accountId, count]);
    await client.query(insertPairs, [accountId]);
    await client.query('commit');
    await client.query('vacuum (analyze) catalog.prices');
    await client.query('vacuum (analyze) catalog.price_metadata');
    await client.query('checkpoint');
  } finally {
    await client.end();
  }
}

const productId = `fprod_0${'0'.repeat(25)}`;

const insertProduct = `
  insert into catalog.products (account_id, test_mode, product_id, name, metadata, created_at, updated_at)
  values ($1, true, '${productId}', 'Thermometer', '{}', now(), now())`;

const insertPrices = `
  insert into catalog.prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key,
    description, unit_amount_cents, metadata, created_at, updated_at)
  select $1, true, 'fprice_0' || lpad(to_hex(place), 25, '0'), '${productId}', true, '',
    'Price ' || place, 1000 + place % 9000,
    jsonb_build_object('shelf', (place % 10)::text, 'season', (place / 10 % 4)::text, 'batch', (place / 1000)::text),
    now(), now()
  from generate_series(1, $2::integer) place`;

const insertPairs = `
  insert into catalog.price_metadata (account_id, test_mode, key, value, listing, price_id)
  select p.account_id, p.test_mode, pair.key, pair.value, p.listing, p.price_id
  from catalog.prices p cross join lateral jsonb_each_text(p.metadata) pair
  where p.account_id = $1 and p.test_mode
  order by p.account_id, p.test_mode, pair.key, pair.value, p.listing, p.price_id`;
