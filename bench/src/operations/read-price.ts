import { type Bench, poolSize, readPace, sharedSide } from '../bench.ts';
import { requestText } from '../requests.ts';
import { type Compared, compare } from '../rounds.ts';
import { priceIdAt } from '../seed/prices.ts';

/** Reads prices by id, spread over the whole account. */
export async function readPrice(bench: Bench): Promise<Compared> {
  const { sizes, stack } = bench;
  const account = await bench.priceAccount(1);
  const paths = Array.from({ length: 2_000 }, () => {
    const place = 1 + Math.floor(Math.random() * sizes.prices[1]);
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
