import { setTimeout as pause } from 'node:timers/promises';
import { make, newCard, newCustomer, text } from '@eligo/e2e';
import { apiClient } from '@eligo/testkit';
import type pg from 'pg';
import { copyRecords } from '../growth/multiply.ts';
import { quiet } from '../quiet.ts';
import type { StackProcess } from '../stack-process.ts';
import { makeAccounts } from './accounts.ts';

/** Weekly subscriptions of one eligible item, spread over accounts, each with a customer and a health card of its own. */
export interface Renewals {
  readonly accountIds: readonly string[];
  /** Of the first account. */
  readonly apiKey: string;
  readonly count: number;
}

/** Billing charges 40 a second of an account: this many accounts never hold a measurement back. Few subscriptions have fewer accounts. */
const mostAccounts = 20;

/** Makes one subscription in each account through the public interface, and copies them in SQL. */
export async function seedRenewals(stack: StackProcess, postgres: pg.Pool, count: number): Promise<Renewals> {
  const accounts = Math.min(mostAccounts, Math.ceil(count / 100));
  const each = Math.ceil(count / accounts);
  const made = await makeAccounts(stack.roleUrls.eligo_gateway ?? '', accounts);
  const [first] = made;
  if (first === undefined) throw new Error('no account was made');
  for (const { apiKey } of made) await subscribe(apiClient(stack.file.gateway, apiKey));
  await quiet(postgres);
  for (const { accountId } of made) await copyRecords(postgres, accountId, copied, each - 1);
  for (const table of copied.tables) await postgres.query(`vacuum (analyze) ${table}`);
  return { accountIds: made.map(({ accountId }) => accountId), apiKey: first.apiKey, count: each * accounts };
}

const copied = {
  tables: ['checkout.customers', 'checkout.payment_methods', 'billing.subscriptions', 'billing.subscription_items'],
  // What a copy refers to beside is the price and the product of the account.
  kinds: ['fcus', 'cus', 'fpm', 'pm', 'fsub', 'fsubi'],
};

async function subscribe(api: ReturnType<typeof apiClient>): Promise<void> {
  const product = await make(api, '/v1/products', 'product', {
    name: 'Blood pressure monitor',
    hsa_fsa_eligibility: 'auto_substantiation',
  });
  const price = await make(api, '/v1/prices', 'price', {
    ...{ product: text(product, 'product_id'), unit_amount: 19_996, recurring: { interval: 'week' } },
  });
  const customer = await newCustomer(api, { first_name: 'Ada' });
  await make(api, '/v1/subscriptions', 'subscription', {
    ...{ customer, default_payment_method: await newCard(api, customer, 'hsa') },
    items: [{ price: text(price, 'price_id'), quantity: 1 }],
  });
}

/**
 * Makes this many of the subscriptions due for an hour, and none of the others before the year 9999. What a measurement has renewed is given a period that has ended again,
 * at a time that no invoice of it has.
 */
export async function makeDue(postgres: pg.Pool, { accountIds }: Renewals, count: number): Promise<void> {
  const client = await postgres.connect();
  try {
    await client.query('begin');
    // As the trigger would set them: a hundred thousand rows in seconds.
    await client.query('set local session_replication_role = replica');
    await client.query(age, [accountIds]);
    await client.query(hold, [accountIds, count]);
    await client.query('commit');
    await client.query('vacuum (analyze) billing.subscriptions');
    await client.query('checkpoint');
  } finally {
    client.release();
  }
}

const age = `
  update billing.subscriptions s set current_period_end = t.ended, current_period_start = t.ended - interval '7 days', anchor = t.ended - interval '7 days',
    payment_at = null, due_at = t.ended, work_at = t.ended, version = s.version + 1
  from (select date_trunc('milliseconds', now()) - interval '1 hour' as ended) t
  where s.account_id = any($1) and s.current_period_end > t.ended + interval '1 hour'`;

// Until the year 9999, as those that wait for an operator: billing frees what is held longer than any hold lasts.
const hold = `
  update billing.subscriptions s set held_until = t.until, work_at = greatest(s.due_at, t.until)
  from (select account_id, id, case when row_number() over (order by md5(id)) > $2::integer then timestamptz '9999-01-01 00:00:00+00' end as until
    from billing.subscriptions where account_id = any($1)) t
  where s.account_id = t.account_id and s.id = t.id and s.held_until is distinct from t.until`;

/** How many renewals were ever paid. */
export async function countRenewed(postgres: pg.Pool): Promise<number> {
  const { rows } = await postgres.query<{ count: string }>(
    `select count(*) from billing.invoice_charges where status = 'succeeded'`,
  );
  return Number(rows[0]?.count);
}

/** Waits until so many more have been renewed; the job looks for what was made due behind its back each fifteen seconds. */
export async function whenRenewed(postgres: pg.Pool, more: number): Promise<void> {
  const until = (await countRenewed(postgres)) + more;
  const deadline = performance.now() + 60_000;
  while ((await countRenewed(postgres)) < until) {
    if (performance.now() > deadline) throw new Error('no subscription is renewed');
    await pause(100);
  }
}
