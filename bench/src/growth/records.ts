import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { seedRecords } from '@eligo/gateway/probes';
import { programFile } from '@eligo/processes/programs';
import { repositoryRoot, serviceNames } from '@eligo/stack';
import { apiClient } from '@eligo/testkit';
import pg from 'pg';
import type { Installation } from '../compare/installation.ts';
import { quiet } from '../quiet.ts';
import type { GrowthRecords } from './cases.ts';
import { multiplyRecords } from './multiply.ts';

/** An account with as many records in each table, made once and written down in `file`. */
export async function growthRecords(
  installation: Installation,
  file: string,
  records: number,
  onShort: (what: string) => void,
): Promise<GrowthRecords> {
  const { postgres, file: stack } = installation;
  if (existsSync(file)) {
    // What the last run left is due by now.
    await endWhatIsDue(postgres);
    return withNutrition(installation, JSON.parse(readFileSync(file, 'utf8')) as GrowthRecords);
  }
  const api = apiClient(stack.gateway, stack.test_api_key);
  issueReceipts(installation);
  const seeded = await seedRecords(stack.gateway, stack.test_api_key, { receipts: true });
  // Nobody listens at the endpoint of the probes: told of what hardly happens, it costs the operations nothing.
  const endpoint = `/v1/webhooks/${seeded.own.webhook_endpoint}`;
  await api.ok('POST', endpoint, { body: { webhook: { events: ['consultation.denied'] } } });
  const intent = await api.ok('GET', `/v1/payment_intents/${seeded.own.payment_intent}`);
  const paidSession = /fcs_[0-9a-z]{26}/.exec(JSON.stringify(intent))?.[0];
  if (paidSession === undefined) throw new Error('a payment intent without its session');
  await endWhatIsDue(postgres);
  const copies = await withoutDurability(stack.postgres, (connections) =>
    multiplyRecords(connections, stack.account, records, onShort),
  );
  const made = { ...seeded, apiKey: stack.test_api_key, paidSession, copies };
  writeFileSync(file, JSON.stringify(made), { mode: 0o600 });
  return withNutrition(installation, made);
}

// The list of components pages by their nutrition, which belongs to the account; the component itself belongs to all.
async function withNutrition({ file }: Installation, records: GrowthRecords): Promise<GrowthRecords> {
  const path = `/v1/product_components/${records.own.product_component}`;
  const answer = await apiClient(file.gateway, file.test_api_key).ok('GET', path);
  const nutrition = /fcn_[0-9a-z]{26}/.exec(JSON.stringify(answer))?.[0];
  if (nutrition === undefined) throw new Error('a component without its nutrition');
  return { ...records, own: { ...records.own, component_nutrition: nutrition } };
}

/** What a million records in each table take longest for: a crash would leave a home that is thrown away. */
const forSeeding = {
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  checkpoint_timeout: `'1h'`,
};

// A connection for each processor of a small machine.
async function withoutDurability<Result>(
  url: string,
  work: (connections: pg.Pool) => Promise<Result>,
): Promise<Result> {
  const connections = new pg.Pool({ connectionString: url, max: 2 });
  const settings = Object.entries(forSeeding);
  try {
    for (const [name, value] of settings) await connections.query(`alter system set ${name} = ${value}`);
    await connections.query('select pg_reload_conf()');
    return await work(connections);
  } finally {
    for (const [name] of settings) await connections.query(`alter system reset ${name}`);
    await connections.query('select pg_reload_conf()');
    await connections.query('checkpoint');
    await connections.end();
  }
}

// As an operator turns the feature on.
function issueReceipts({ file: { account, postgres } }: Installation): void {
  execFileSync(
    process.execPath,
    [programFile(repositoryRoot, 'cli'), 'accounts', 'update', account, '--feature', 'receipts'],
    {
      env: { ...process.env, DATABASE_URL: postgres },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
}

async function endWhatIsDue(postgres: pg.Pool): Promise<void> {
  await quiet(postgres);
  for (const statement of nothingDue) await postgres.query(statement);
  await keepNothingFromRetention(postgres);
}

/**
 * Lets retention look at the copies of all events. Otherwise it looks at those before the first event that was published lately: the copies of a few, of which the small account has
 * fewer than the hundred that one look reads, and the large one has thousands.
 */
export async function keepNothingFromRetention(postgres: pg.Pool | pg.Client): Promise<void> {
  for (const service of ['gateway', ...serviceNames]) {
    await postgres.query(`update ${service}.outbox_positions set oldest_new_event_id = null`);
  }
}

// What is copied must not fall due while the copies are measured: a million sessions that expire are another measurement.
const nothingDue = [
  `update checkout.sessions set expires_at = now() + interval '20 years' where status = 'open' and expires_at < now() + interval '10 years'`,
  `update webhooks.deliveries set status = 'succeeded', next_attempt_at = null, delivered_at = now() where status <> 'succeeded'`,
  `update billing.receipt_mails set status = 'sent', next_try_at = null, sent_at = now() where status = 'pending'`,
  `update refunds.disputes set next_check_at = null where next_check_at is not null`,
  `update refunds.payouts set status = 'paid', is_noted = true, next_look_at = null where not is_noted or next_look_at is not null`,
  `update refunds.refund_attempts set status = 'ended' where status = 'accepted'`,
  // Each run uploads some thousands of small files, and an account has room for 10,000.
  `update gateway.file_usage set files = 1`,
];
