import { type Bench, poolSize, readPace, sharedSide } from '../bench.ts';
import { requestText } from '../requests.ts';
import { type Compared, compare } from '../rounds.ts';
import { filterPairs } from '../seed/prices.ts';

/** Ten prices of as many, by two pairs of metadata, against the same query without a server around it. */
export const listPricesOf = (size: 0 | 1 | 2) => (bench: Bench) => listPrices(bench, size);

async function listPrices(bench: Bench, size: 0 | 1 | 2): Promise<Compared> {
  const { stack } = bench;
  const account = await bench.priceAccount(size);
  const bare = await bench.startBare();
  const port = await bare.ask('open', {
    databaseUrl: stack.file.postgres,
    connections: poolSize,
    text: selectPage,
    values: [
      account.accountId,
      true,
      'active',
      'shelf',
      filterPairs.shelf,
      'season',
      filterPairs.season,
      pageLength + 1,
    ],
    one: false,
  });
  const texts = [requestText('GET', firstPage, account.apiKey)];
  return compare(sharedSide(bench, stack.port, texts), sharedSide(bench, port, texts), readPace(bench));
}

/** The first page of the largest account against that of the smallest. */
export function listPricesLarge(bench: Bench): Promise<Compared> {
  return againstSmall(bench, firstPage);
}

/** The thousandth page of the largest account, reached by its cursor, against the first of the smallest. */
export async function listPricesDeep(bench: Bench): Promise<Compared> {
  const account = await bench.priceAccount(2);
  const { rows } = await bench.postgres.query<{ id: string }>(selectCursor, [account.accountId, deepRow(bench)]);
  const [cursor] = rows;
  if (cursor === undefined) throw new Error('the largest account has no page that deep');
  return againstSmall(bench, `${firstPage}&starting_after=${cursor.id}`);
}

const pageLength = 10;
/** The page that is read. */
export const firstPage: string = `/v1/prices?limit=${pageLength}&metadata[shelf]=${filterPairs.shelf}&metadata[season]=${filterPairs.season}`;

async function againstSmall(bench: Bench, largePath: string): Promise<Compared> {
  const [small, large] = [await bench.priceAccount(0), await bench.priceAccount(2)];
  const side = (path: string, apiKey: string) => {
    return sharedSide(bench, bench.stack.port, [requestText('GET', path, apiKey)]);
  };
  return compare(side(largePath, large.apiKey), side(firstPage, small.apiKey), readPace(bench));
}

// Page one thousand, or as deep as the matches of a small run reach.
function deepRow({ sizes }: Bench): number {
  return Math.min(999 * pageLength, Math.floor(sizes.prices[2] / 40) - 2 * pageLength);
}

const selectPage = `
  select p.price_id, p.product_id, p.description, p.unit_amount_cents, p.recurring_interval, p.recurring_interval_count,
    p.trial_period_days, p.active, p.lookup_key, p.hsa_fsa_eligibility, p.product_eligibility_key, p.metadata, p.created_at
  from catalog.prices p where p.account_id = $1 and p.test_mode = $2 and p.price_id = any(array(
    select m.price_id from catalog.price_metadata m
    join catalog.price_metadata o on o.account_id = $1 and o.test_mode = $2 and o.key = $6 and o.value = $7
      and o.listing = $3 and o.price_id = m.price_id
    where m.account_id = $1 and m.test_mode = $2 and m.key = $4 and m.value = $5 and m.listing = $3
    order by m.price_id desc limit $8))
  order by p.price_id desc`;

const selectCursor = `
  select price_id as id from catalog.prices
  where account_id = $1 and test_mode and metadata @> '${JSON.stringify(filterPairs)}'
  order by price_id desc offset $2 limit 1`;
