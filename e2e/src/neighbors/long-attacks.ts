import { record, text } from '../records.ts';
import { make, newCard, newCustomer } from '../shop.ts';
import type { Attack } from './attack.ts';
import type { AttackingAccount } from './attacking-account.ts';
import { type AttackReport, flood, sendPrepared } from './flood.ts';

const subscriptions = 50;

/** Small requests that cause long work: behind the lock of one row, and on a test clock. */
export const longAttacks: readonly Attack[] = [
  { name: 'changes of a product with 10,000 prices', prepare: changesOfProduct },
  { name: `two years of a clock with ${subscriptions} daily subscriptions`, prepare: yearsOfClock },
];

/** Changes one product with as many prices as it likes, again and again: each change waits for the one before. */
async function changesOfProduct({ eligo, id, api, unlimited, perSecond }: AttackingAccount) {
  const product = text(await make(unlimited, '/v1/products', 'product', { name: 'Thermometer' }), 'product_id');
  // By the database, because ten thousand requests take longer than the attack.
  await eligo.database.admin(
    `insert into catalog.prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key,
       unit_amount_cents, metadata, created_at, updated_at)
     select $1, true, 'fprice_' || lpad(n::text, 26, '0'), $2, true, '', n, '{}', now(), now() from generate_series(1, 10000) n`,
    [id, product],
  );
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${api.key}` };
  const bodies = [false, true].map((active) => Buffer.from(JSON.stringify({ product: { active } })));
  const change = (count: number) =>
    sendPrepared(eligo.url, {
      ...{ method: 'PATCH', path: `/v1/products/${product}`, headers },
      body: bodies[count % 2] as Buffer,
    });
  return (signal: AbortSignal) => flood(signal, perSecond * 1.2, change);
}

/** Has a clock with fifty daily subscriptions go through two years. Each attack has a clock of its own, which is deleted at its end: what is left of the years would be a part of every measurement that follows. */
async function yearsOfClock({ api, unlimited }: AttackingAccount) {
  const price = text(
    await make(unlimited, '/v1/prices', 'price', {
      ...{ product_data: { name: 'Towels', hsa_fsa_eligibility: 'not_eligible' }, unit_amount: 700 },
      recurring: { interval: 'day' },
    }),
    'price_id',
  );
  const clockWithSubscriptions = async () => {
    const frozen_time = new Date().toISOString();
    const clock = text(await make(unlimited, clocks, 'test_clock', { frozen_time }), 'test_clock_id');
    const customer = await newCustomer(unlimited, { test_clock: clock });
    const card = await newCard(unlimited, customer, 'credit');
    const sold = { customer, items: [{ price, quantity: 1 }], default_payment_method: card };
    for (let count = 0; count < subscriptions; count++)
      await make(unlimited, '/v1/subscriptions', 'subscription', sold);
    return clock;
  };
  let next = await clockWithSubscriptions();
  return async (signal: AbortSignal) => {
    const clock = next;
    const path = `${clocks}/${clock}/advance`;
    const frozen_time = new Date(Date.now() + twoYearsMs).toISOString();
    const report = await againAndAgain(signal, async () => {
      const { status, body } = await api.post(path, { test_clock: { frozen_time } }, { signal });
      if (status === 200 && record(body, 'test_clock').status === 'ready') throw new Error('the two years are over');
      return status;
    });
    await unlimited.ok('DELETE', `${clocks}/${clock}`);
    next = await clockWithSubscriptions();
    return report;
  };
}

async function againAndAgain(signal: AbortSignal, one: () => Promise<number>): Promise<AttackReport> {
  let [answered, refused] = [0, 0];
  while (!signal.aborted) {
    try {
      const status = await one();
      if (status === 429 || status === 503) refused++;
      else answered++;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
  return { answered, refused };
}

const clocks = '/v1/test_helpers/test_clocks';
const twoYearsMs = 2 * 365 * 86_400_000;
