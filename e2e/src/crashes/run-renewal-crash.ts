import { type Api, waitUntil } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import { type Json, record, records, text } from '../records.ts';
import { make, newCard, newCustomer } from '../shop.ts';
import { recovered } from './run-confirm-crash.ts';
import type { RunningShop } from './running-shop.ts';

/** A place at which a process dies while a subscription is renewed. */
export interface RenewalCrash {
  readonly name: string;
  readonly component: 'billing' | 'checkout';
  readonly failpoint: string;
  /** So many passes are let through: the second card's charge, or the next period. */
  readonly skip?: number;
}

/** Every named place of a renewal. */
export const renewalCrashes: readonly RenewalCrash[] = [
  { name: 'the customer’s card charged, not recorded', component: 'billing', failpoint: 'invoice_charge.answered' },
  {
    name: 'the second card charged, not settled',
    component: 'checkout',
    failpoint: 'charge.processor_answered',
    skip: 1,
  },
  { name: 'the clock begun', component: 'billing', failpoint: 'clock.advancing' },
  { name: 'its eligibility known', component: 'billing', failpoint: 'renewal.resolved' },
  { name: 'invoiced', component: 'billing', failpoint: 'renewal.invoiced' },
  { name: 'a charge written down', component: 'billing', failpoint: 'invoice_charge.begun' },
  {
    name: 'the second card charged, not recorded',
    component: 'billing',
    failpoint: 'invoice_charge.answered',
    skip: 1,
  },
  { name: 'a payment almost recorded', component: 'billing', failpoint: 'invoice_charge.before_commit' },
  { name: 'paid, in the second period', component: 'billing', failpoint: 'invoice_charge.recorded', skip: 3 },
  { name: 'claimed', component: 'checkout', failpoint: 'invoice.claimed' },
  { name: 'an intent created', component: 'checkout', failpoint: 'charge.intent_created' },
  { name: 'the fence passed', component: 'checkout', failpoint: 'charge.fence_passed' },
  { name: 'almost settled', component: 'checkout', failpoint: 'charge.before_settle_commit' },
  { name: 'settled, in the second period', component: 'checkout', failpoint: 'charge.settled', skip: 2 },
];

/** What the short run of `npm test` tries of them. */
export const shortRenewalCrashes = renewalCrashes.slice(0, 2);

/**
 * Advances a clock over two renewals on a health card and another one, has a process die there, and holds what becomes of it against the model: each period has
 * one paid invoice, and each card was charged once for it.
 */
export async function runRenewalCrash(running: RunningShop, crash: RenewalCrash): Promise<void> {
  const { api, eligo } = running;
  await eligo.sandbox('DELETE', '/sandbox/faults');
  const { clock, customer } = await subscribed(running);
  const { skip = 0 } = crash;
  await eligo.armFailpoint(crash.component, crash.failpoint, { action: 'kill', skip });
  const advance = api.post(`${clocks}/${clock}/advance`, { test_clock: { frozen_time: '2030-03-31T00:00:00Z' } });
  await Promise.all([Promise.allSettled([advance]), recovered(running, crash.failpoint)]);
  await waitUntil(async () => record((await api.get(`${clocks}/${clock}`)).body, 'test_clock').status === 'ready', {
    withinMs: 90_000,
    everyMs: 200,
    what: 'the clock to be there',
  });
  const invoices = records((await api.get(`/v1/invoices?customer=${customer}`)).body, 'invoices');
  const charges = records(await eligo.sandbox('GET', '/sandbox/charges?limit=1000'), 'data');
  const seen = invoices.map((invoice) => {
    const paid = charges.filter(
      ({ metadata, status }) => (metadata as Json).invoice === invoice.invoice_id && status === 'succeeded',
    );
    const amounts = paid.map(({ amount }) => Number(amount)).toSorted((one, other) => one - other);
    return `${String(invoice.period_start).slice(0, 10)} ${invoice.status} ${amounts.join(' + ')}`;
  });
  const model = ['2030-03-31', '2030-02-28', '2030-01-31'].map((day) => `${day} paid 700 + 1900`);
  if (seen.join() !== model.join()) throw new Error(`billed ${seen.join('; ')}; the model is ${model.join('; ')}`);
  await booksAgree(eligo);
}

const clocks = '/v1/test_helpers/test_clocks';

async function subscribed({ api, shop }: RunningShop): Promise<{ clock: string; customer: string }> {
  const made = await make(api, clocks, 'test_clock', { frozen_time: '2030-01-31T00:00:00Z' });
  const clock = text(made, 'test_clock_id');
  const customer = await newCustomer(api, { test_clock: clock });
  const monthly = { recurring: { interval: 'month' } };
  const items = [
    await make(api, '/v1/prices', 'price', { ...monthly, product: shop.eligibleProductId, unit_amount: 1_900 }),
    await make(api, '/v1/prices', 'price', {
      ...{ ...monthly, unit_amount: 700, product_data: { name: 'Towels', hsa_fsa_eligibility: 'not_eligible' } },
    }),
  ];
  const subscription = {
    ...{ customer, items: items.map((price) => ({ price: text(price, 'price_id'), quantity: 1 })) },
    default_payment_method: await newCard(api, customer, 'hsa'),
    backup_payment_method: await newCard(api, customer, 'credit'),
  };
  await waitUntil(async () => isPaid(api, subscription, `subscribe-${customer}`), {
    ...{ withinMs: 60_000, everyMs: 200, what: 'the first payments' },
  });
  return { clock, customer };
}

// A charge that a cold process does not end within its second leaves the subscription incomplete, until a job asks what became of it: what is counted begins after it.
async function isPaid(api: Api, subscription: Json, idempotencyKey: string): Promise<boolean> {
  const answer = await api.post('/v1/subscriptions', { subscription }, { idempotencyKey });
  if (answer.status === 503) return false;
  if (answer.status !== 200) throw new Error(`a subscription was answered ${answer.status} ${answer.text}`);
  const path = `/v1/subscriptions/${text(record(answer.body, 'subscription'), 'subscription_id')}`;
  return record(await api.ok('GET', path), 'subscription').status === 'active';
}
