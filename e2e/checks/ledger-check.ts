import { readdirSync, readFileSync } from 'node:fs';
import { checkoutService } from '@eligo/checkout';
import { checkLedger, checkProcessor } from '@eligo/cli';
import { openDatabase } from '@eligo/postgres';
import { openProcessors } from '@eligo/processor';
import { refundsService } from '@eligo/refunds';
import { testDatabase } from '@eligo/testkit';
import { setup, teardown } from '@eligo/testkit/global-setup';
import { ledgerSeeds } from '../src/ledger-seeds.ts';
import { type ListedMovement, startMovementList } from '../src/movement-list.ts';

// How long the ledger check takes on books of 1,000,000 ledger transactions (or as many as the first argument says), on a server of its own unless
// ELIGO_TEST_POSTGRES_URL names one: `npm run check:ledger -w @eligo/e2e`. Half of them post captures, half what the processor moved for them, over a
// hundred accounts and a year. It must find nothing, and then the one cent that is taken away.
const payments = Math.floor(Number(process.argv[2] ?? 1_000_000) / 2);

await setup();
const place = await testDatabase(checkoutService, refundsService);
// As the command has it, and the longest statement of all.
const longest = { name: '', ms: 0 };
const database = openDatabase({
  ...{ url: place.adminUrl, applicationName: 'check', max: 1, statementTimeoutMs: 30_000 },
  onStatement: (name, ms) => {
    if (ms > longest.ms) Object.assign(longest, { name, ms });
  },
});
try {
  for (const rows of ledgerSeeds(payments)) await place.admin(`set session_replication_role = replica; ${rows}`);
  await place.admin('vacuum analyze');
  const [{ transactions, postings } = { transactions: 0, postings: 0 }] = await place.admin<{
    transactions: number;
    postings: number;
  }>(
    `select (select count(*) from refunds.ledger_transactions)::int as transactions, (select count(*) from refunds.ledger_postings)::int as postings`,
  );
  console.log(`${transactions} ledger transactions with ${postings} postings`);
  await look('whole books', 0);
  await lookAtProcessor();
  await place.admin(
    `set session_replication_role = replica;
     update refunds.ledger_postings set amount_cents = amount_cents - 1 where transaction_id = 'fltx_m1' and ledger_account = 'processor_balance'`,
  );
  // The sum, the net, and the total of its day.
  await look('a cent less', 3);
} finally {
  await database.close();
  await place.drop();
  await teardown();
}

async function look(what: string, expected: number): Promise<void> {
  const [before, startedAt] = [await serverSeconds(), performance.now()];
  longest.ms = 0;
  const faults = await checkLedger(database);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const used = ((await serverSeconds()) - before).toFixed(1);
  const megabytes = Math.round(process.memoryUsage().rss / 1e6);
  console.log(
    `${what}: ${faults.length} faults, ${seconds} s, of which ${used} s of the database's processor time, ${megabytes} MB in this process; longest statement ${Math.round(longest.ms)} ms (${longest.name.split(':')[0]})`,
  );
  if (faults.length !== expected)
    throw new Error(`${expected} faults were expected: ${JSON.stringify(faults.slice(0, 5))}`);
}

// Of the server's processes that live, and of its workers that have ended; 0 where the server is not on this machine, which is Linux.
async function serverSeconds(): Promise<number> {
  const [{ pid } = { pid: 0 }] = await place.admin<{ pid: number }>('select pg_backend_pid() as pid');
  const parent = statOf(pid)?.parent;
  if (parent === undefined) return 0;
  const children = readdirSync('/proc').map((name) => statOf(Number(name)));
  const ticks = children.reduce(
    (sum, stat) => sum + (stat?.parent === parent ? stat.own : 0),
    statOf(parent)?.ended ?? 0,
  );
  return ticks / 100;
}

function statOf(pid: number): { parent: number; own: number; ended: number } | undefined {
  if (!Number.isInteger(pid)) return undefined;
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    const [user = 0, system = 0, userOfEnded = 0, systemOfEnded = 0] = fields.slice(11, 15);
    return { parent, own: user + system, ended: userOfEnded + systemOfEnded };
  } catch {
    // It has ended, or there is no such folder.
    return undefined;
  }
}

// A year of an account of its own, by a server that speaks Stripe's interface; then again, when all of its days but the last ones are noted.
async function lookAtProcessor(): Promise<void> {
  const begins = Math.floor(Date.now() / 1_000) - 365 * 86_400;
  const size = Math.floor(payments / 5);
  const movements = Array.from({ length: size }, (_, n): ListedMovement => {
    const created = begins + Math.floor((n * 365 * 86_400) / size);
    return { id: `txn_listed_${n}`, created, amount: 1_000 + (n % 5_000), fee: 30 + (n % 150) };
  });
  const list = await startMovementList(movements);
  await place.admin(
    `insert into refunds.ledger_feeds (account_id, test_mode, processor, processor_account, begins_at, read_from, next_read_at)
     values ('facct_listed', false, 'stripe', 'acct_listed', to_timestamp($1), now(), now())`,
    [begins],
  );
  await place.admin(
    `insert into refunds.processor_transactions (account_id, test_mode, processor, processor_account, id, type, reporting_category, amount_cents, fee_cents,
       application_fee_cents, net_cents, available_on, created_at, match_at)
     select 'facct_listed', false, 'stripe', 'acct_listed', 'txn_listed_' || n, 'charge', 'charge', 1000 + n % 5000, 30 + n % 150, 0,
       1000 + n % 5000 - 30 - n % 150, now(), to_timestamp($1::bigint + floor(n * 365.0 * 86400 / $2::bigint)), null from generate_series(0, $2::bigint - 1) n`,
    [begins, size],
  );
  await place.admin('analyze refunds.processor_transactions');
  const processors = openProcessors(
    { STRIPE_SECRET_KEY: 'sk_live_check', STRIPE_ACCOUNTS: '{"facct_listed":"acct_listed"}' },
    { stripeUrl: list.url },
  );
  for (const what of ['the processor’s list of a year', 'what is new of it']) {
    const startedAt = performance.now();
    const before = list.pages();
    const { faults, movements } = await checkProcessor(database, processors);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    const memory = `${Math.round(process.memoryUsage().rss / 1e6)} MB`;
    console.log(
      `${what}: ${faults.length} faults, ${movements} movements, ${list.pages() - before} calls, ${seconds} s, ${memory}`,
    );
    if (faults.length > 0) throw new Error(JSON.stringify(faults.slice(0, 5)));
  }
  processors.close();
  await list.close();
  for (const table of ['checked_days', 'ledger_feeds', 'processor_transactions']) {
    await place.admin(
      `set session_replication_role = replica; delete from refunds.${table} where account_id = 'facct_listed'`,
    );
  }
}
