import { billingService } from '@eligo/billing';
import { catalogService } from '@eligo/catalog';
import { checkoutService } from '@eligo/checkout';
import { checkBooks, checkLedger, type ProcessorList } from '@eligo/cli';
import { type Database, openDatabase } from '@eligo/postgres';
import { refundsService } from '@eligo/refunds';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { webhooksService } from '@eligo/webhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ledgerSeeds } from '../src/ledger-seeds.ts';

/** Each of them is one payment's: 20 ranges. */
const payments = 4_000;
const size = 200;

describe('ledger check', () => {
  let test: TestDatabase;
  let database: Database;
  const statements = new Map<string, number>();
  beforeAll(async () => {
    test = await testDatabase(catalogService, checkoutService, billingService, refundsService, webhooksService);
    database = openDatabase({
      ...{ url: test.adminUrl, applicationName: 'ledger check', max: 1 },
      onStatement: (name) => void statements.set(name, (statements.get(name) ?? 0) + 1),
    });
    for (const rows of [...ledgerSeeds(payments), ...paymentSeeds()])
      await test.admin(`set session_replication_role = replica; ${rows}`);
    await test.admin('vacuum analyze');
  }, 120_000);
  afterAll(async () => {
    await database?.close();
    await test?.drop();
  });

  /** What was read of each large table: by scans of all of it, and by its indexes. */
  async function readsOf(work: () => Promise<unknown>) {
    const counts = async () => {
      await test.admin('select pg_stat_force_next_flush()');
      return test.admin<{ name: string; scanned: number; found: number }>(
        `select s.schemaname || '.' || s.relname as name, s.seq_tup_read::int as scanned, coalesce(s.idx_tup_fetch, 0)::int as found
           from pg_stat_user_tables s join pg_class c on c.oid = s.relid where c.reltuples >= $1 order by 1`,
        [payments],
      );
    };
    const before = await counts();
    await work();
    // The connection that worked tells its counts once it has been idle.
    await database.close();
    database = openDatabase({ url: test.adminUrl, applicationName: 'ledger check', max: 1 });
    const after = await counts();
    return after.map(({ name, scanned, found }, at) => {
      return { name, scanned: scanned - (before[at]?.scanned ?? 0), found: found - (before[at]?.found ?? 0) };
    });
  }

  const isBeyond = (times: number) => (read: { scanned: number; found: number }) =>
    read.scanned > 0 || read.found > times * payments;

  it('reads the ledger in ranges, each by keys alone: no statement scans a table, and all together read each row some times [D14.155]', async () => {
    const reads = await readsOf(async () => expect(await checkLedger(database, { size })).toEqual([]));
    expect(reads.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['checkout.ledger_entries', 'refunds.ledger_postings', 'refunds.ledger_transactions']),
    );
    // Two transactions and five postings are of a payment; each is read by its own range, by the sums, and by what refers to it.
    expect(reads.filter(isBeyond(30))).toEqual([]);
    const ranges = [...statements].filter(([name]) => name.startsWith('ledger_check.refunds.ledger_transactions'));
    expect(ranges.map(([, times]) => times)).toEqual([(2 * payments) / size + 1]);
  });

  it('reads the books in ranges, and the sandbox’s list with them [D14.155]', async () => {
    const reads = await readsOf(() => checkBooks(database, declined(payments), { size }));
    expect(reads.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'checkout.charge_attempts',
        'checkout.outbox',
        'checkout.payment_intents',
        'checkout.sessions',
      ]),
    );
    expect(reads.filter(isBeyond(30))).toEqual([]);
  });
});

function declined(count: number): ProcessorList {
  return {
    async *charges() {
      for (let at = 0; at < count; at += 1_000)
        yield Array.from({ length: 1_000 }, (_, n) => ({ id: `ch_${at + n}`, account: 'acct_1', status: 'failed' }));
    },
    async *refunds() {
      yield [];
    },
  };
}

// A session with a charge, and its events, for each payment: what is compared by its keys, whether it agrees or not.
function paymentSeeds(): string[] {
  const rows = `from (select n, 'facct_' || n % 100 as account, 1000 + n % 5000 as cents, timestamptz '2026-01-01' + n * interval '1 minute' as at
    from generate_series(1, ${payments}) n) s`;
  const scope = 'account_id, test_mode';
  const zeros = (count: number) => Array.from({ length: count }, () => '0').join(', ');
  return [
    `insert into checkout.sessions (${scope}, id, status, mode, capture_method, amount_subtotal_cents, amount_discount_cents, amount_tax_cents,
       amount_shipping_cents, amount_fee_cents, amount_total_cents, amount_eligible_cents, amount_iias_cents, amount_prescription_cents, amount_vision_cents,
       amount_service_cents, amount_received_cents, letter_required, expires_at, created_at)
     select account, false, 'fcs_' || n, 'complete', 'payment', 'automatic', cents, ${zeros(4)}, cents, cents, ${zeros(4)}, cents, false, at, at ${rows}`,
    `insert into checkout.payment_intents (${scope}, id, session_id, leg, capture_method, status, amount_cents, amount_received_cents, processor_intent_id,
       created_at, processor, processor_account)
     select account, false, 'fpi_' || n, 'fcs_' || n, 'health', 'automatic', 'succeeded', cents, cents, 'pi_' || n, at, 'sandbox', 'acct_1' ${rows}`,
    `insert into checkout.charge_attempts (${scope}, id, purpose, subject_id, leg, driver, payment_intent_id, payment_method_id, processor_payment_method_id,
       off_session, capture_method, amount_cents, status, lease_until, processor_intent_id, acting_at)
     select account, false, 'fatt_' || n, 'session', 'fcs_' || n, 'health', 'confirm', 'fpi_' || n, 'fpm_1', 'pm_1', false, 'automatic', cents, 'succeeded', at,
       'pi_' || n, at ${rows}`,
    `insert into checkout.charges (${scope}, id, payment_intent_id, status, amount_cents, amount_captured_cents, balance_transaction_id, created_at)
     select account, false, 'fch_' || n, 'fpi_' || n, 'succeeded', cents, cents, 'fbtxn_' || n, at ${rows}`,
    `insert into checkout.outbox (event_id, aggregate_id, aggregate_seq, type, ${scope}, created_at)
     select 'fevt_' || n || '_' || k, case k when 1 then 'fcs_' when 2 then 'fpi_' when 3 then 'fpi_' else 'fch_' end || n, k, type, account, false, at ${rows}
     cross join (values (1, 'checkout.session.completed'), (2, 'payment_intent.created'), (3, 'payment_intent.succeeded'), (4, 'charge.succeeded')) e (k, type)`,
  ];
}
