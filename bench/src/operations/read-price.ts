import { type Bench, poolSize, readPace, sharedSide } from '../bench.ts';
import { requestText } from '../requests.ts';
import { type Compared, compare } from '../rounds.ts';
import { priceIdAt } from '../seed/prices.ts';

/** Reads prices by id, spread over the whole of an account of this size. */
export const readPriceOf = (size: 0 | 1 | 2) => (bench: Bench) => readPrice(bench, size);

async function readPrice(bench: Bench, size: 0 | 1 | 2): Promise<Compared> {
  const { sizes, stack } = bench;
  const account = await bench.priceAccount(size);
  const paths = Array.from({ length: 2_000 }, () => {
    const place = 1 + Math.floor(Math.random() * sizes.prices[size]);
    return `/v1/prices/${priceIdAt(place)}`;
  });
  const texts = paths.map((path) => requestText('GET', path, account.apiKey));
  const bare = await bench.startBare();
  const port = await bare.ask('open', {
    databaseUrl: stack.file.postgres,
    connections: poolSize,
    text: selectPrice,
    values: [account.accountId, true, null],
    one: true,
  });
  return compare(sharedSide(bench, stack.port, texts), sharedSide(bench, port, texts), readPace(bench));
}

const selectPrice = `
  select price_id, product_id, description, unit_amount_cents, recurring_interval, recurring_interval_count, trial_period_days,
    active, lookup_key, hsa_fsa_eligibility, product_eligibility_key, metadata, created_at
  from catalog.prices where account_id = $1 and test_mode = $2 and price_id = $3`;
