import { checkLedger, checkProcessor, type Fault, moveFromSuspense } from '@eligo/cli';
import { type Database, openDatabase, unscoped, withTx } from '@eligo/postgres';
import { openProcessors, sandboxAccountOf } from '@eligo/processor';
import { type TestDatabase, waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { booksAgree } from '../src/books.ts';
import { randomOf, seedOfRun } from '../src/chaos/random.ts';
import { newCart, openRunningShop, type RunningShop } from '../src/crashes/running-shop.ts';
import { dayOfMoney } from '../src/day-of-money.ts';
import { type Json, record, records, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { confirm, make } from '../src/shop.ts';
import { describeBusyRefunds, describeRepair } from './ledger-repair.ts';
import { describeMovingBalance } from './moving-balance.ts';

const isLong = process.env.ELIGO_TEST_LONG === 'on';

describe('eligo ledger check', () => {
  let running: RunningShop;
  let database: Database;
  beforeAll(async () => {
    // No process dies here: the time of production, for a day of 10,000 movements.
    running = await openRunningShop('in-process', {});
    database = openDatabase({ url: running.eligo.database.adminUrl, applicationName: 'ledger check', max: 1 });
    // A charge that is refunded in part, and disputed.
    const { api } = running;
    const cart = await newCart(running);
    const confirmed = await confirm(api, cart.sessionId, cart.card);

    await make(api, `/v1/checkout/sessions/${cart.sessionId}/refund`, 'checkout_session', { amount: 100 });
    const intent = record(record(confirmed.body, 'checkout_session'), 'payment_intent');
    const charge = text(intent, 'latest_charge');
    await make(api, '/v1/test_helpers/disputes', 'dispute', { charge, amount: 50 });
  }, 120_000);
  afterAll(async () => {
    await database?.close();
    await running?.eligo.stop();
  }, 60_000);

  const accountAtSandbox = () => sandboxAccountOf({ accountId: running.eligo.account, testMode: true });
  async function balanceFaults(): Promise<Fault[]> {
    const { url, key } = running.eligo.processor;
    const processors = openProcessors({ ELIGO_SANDBOX_URL: url, ELIGO_SANDBOX_KEY: key });
    try {
      return (await checkProcessor(database, processors)).faults;
    } finally {
      processors.close();
    }
  }

  it('finds nothing once the ledger has posted what was journaled and what the balance shows [D14.155]', async () => {
    await waitUntil(async () => (await checkLedger(database)).length === 0, {
      withinMs: 30_000,
      what: 'the ledger to agree',
    });
    await booksAgree(running.eligo);
  }, 60_000);

  it('is a part of the check with which end-to-end tests end: one cent of the ledger fails them [D14.155]', async () => {
    const { admin } = running.eligo.database;
    const add = (cents: number) =>
      admin(`update refunds.ledger_totals set amount_cents = amount_cents + $1 where ledger_account = 'charges'`, [
        cents,
      ]);
    await add(1);
    try {
      await expect(booksAgree(running.eligo)).rejects.toThrow('total_differs_from_postings');
    } finally {
      await add(-1);
    }
    await booksAgree(running.eligo);
  });

  // Each with the record that is named.
  it.each([
    [
      'entry_not_posted',
      'wrong',
      `with gone as (delete from refunds.ledger_transactions where kind = 'capture' returning *), p as (delete from
       refunds.ledger_postings using gone where transaction_id = gone.id) select entry_id from gone`,
    ],
    [
      'entry_not_posted',
      'unsettled',
      `with gone as (delete from refunds.ledger_transactions where kind = 'refund_pending' returning entry_id)
       update refunds.ledger_entries set post_at = now() from gone where transaction_id = entry_id returning entry_id`,
    ],
    [
      'entry_posted_differently',
      'wrong',
      `update refunds.ledger_transactions set amount_cents = amount_cents + 1 where kind = 'refund_succeeded' returning entry_id`,
    ],
    [
      'posted_without_entry',
      'wrong',
      `update refunds.ledger_transactions set entry_id = 'fltx_none' where kind = 'capture' returning id`,
    ],
    [
      'ledger_out_of_balance',
      'wrong',
      `update refunds.ledger_postings set amount_cents = amount_cents + 1 where ledger_account = 'fees' and amount_cents < 1500 returning transaction_id`,
    ],
    [
      'ledger_moves_another_net',
      'wrong',
      `update refunds.ledger_transactions set net_cents = net_cents - 1 where kind = 'charge' returning id`,
    ],
    [
      'total_differs_from_postings',
      'wrong',
      `update refunds.ledger_totals set amount_cents = amount_cents + 1 where grain = 'month' and ledger_account = 'charges'
       returning begins_on || ' ' || ledger_account`,
    ],
    [
      'activity_differs_from_transactions',
      'wrong',
      `update refunds.ledger_activity set transactions = transactions + 1 where type = 'capture' returning day || ' ' || type`,
    ],
    [
      'movement_not_posted',
      'wrong',
      `delete from refunds.ledger_transactions where kind = 'refund' returning processor_transaction_id`,
    ],
    [
      'movement_not_posted',
      'unsettled',
      `with gone as (delete from refunds.ledger_transactions where kind = 'refund' returning processor_transaction_id)
       update refunds.processor_transactions m set match_at = now() from gone where m.id = gone.processor_transaction_id returning m.id`,
    ],
    [
      'movement_posted_differently',
      'wrong',
      `update refunds.processor_transactions set fee_cents = fee_cents + 1 where type = 'charge' returning id`,
    ],
    [
      'posted_without_movement',
      'wrong',
      `with gone as (delete from refunds.processor_transactions where type = 'charge' returning id)
       select t.id from refunds.ledger_transactions t join gone on gone.id = t.processor_transaction_id`,
    ],
    [
      'movement_in_suspense',
      'unsettled',
      `update refunds.ledger_postings p set ledger_account = 'suspense' from refunds.ledger_transactions t
       where t.id = p.transaction_id and t.kind = 'charge' and p.ledger_account = 'receivable' returning t.processor_transaction_id`,
    ],
    [
      'moved_beyond_suspense',
      'wrong',
      `${movedCharge('abs(amount_cents) + 1', 'fees')} select processor_transaction_id from put`,
    ],
    [
      'suspense_move_posted_elsewhere',
      'wrong',
      `${movedCharge('abs(amount_cents)', 'disputes')} select 'fltx_move' from put`,
    ],
    [
      'balance_transaction_differs_from_its_movements',
      'wrong',
      `update refunds.balance_transactions set fee_cents = fee_cents + 1 where type = 'charge' returning id`,
    ],
    [
      'balance_transaction_pending',
      'unsettled',
      `update refunds.balance_transactions set amount_cents = amount_cents + 1 where type = 'charge' returning id`,
    ],
    [
      'refund_settled_beyond_its_amount',
      'wrong',
      `update refunds.balance_transactions set settled_cents = 2 * amount_cents where type = 'refund' returning id`,
    ],
    [
      'capture_without_balance_transaction',
      'wrong',
      `with gone as (delete from refunds.balance_transactions where type = 'charge' returning id)
       select t.id from refunds.ledger_transactions t join gone on gone.id = t.balance_transaction_id where t.kind = 'capture'`,
    ],
    [
      'refund_part_on_another_balance_transaction',
      'wrong',
      `update refunds.ledger_transactions set balance_transaction_id = 'fbtxn_none' where kind = 'refund' returning source_id`,
    ],
    [
      'captures_share_a_balance_transaction',
      'wrong',
      `insert into refunds.ledger_transactions select (jsonb_populate_record(t, '{"id": "fltx_twin", "entry_id": "fltx_none"}')).*
         from refunds.ledger_transactions t where kind = 'capture' returning balance_transaction_id`,
    ],
    [
      'charge_names_another_balance_transaction',
      'wrong',
      `update checkout.charges set balance_transaction_id = 'fbtxn_none' where amount_captured_cents > 0 returning id`,
    ],
    [
      'dispute_differs_from_its_movements',
      'wrong',
      `update refunds.dispute_movements set amount_cents = amount_cents - 1 returning dispute_id`,
    ],
  ] as const)('finds %s (%s) and names its record [D14.155]', async (fault, state, damage) => {
    const { named, faults } = await damaged(database, damage);
    expect(named).toHaveLength(1);
    expect(faults).toContainEqual(expect.objectContaining({ state, fault, id: named[0] }));
  });

  it(
    'ties out to the cent after a day of mixed movements: with the sandbox’s own list and balance, and with the report [D14.157, D14.158]',
    async () => {
      const seed = seedOfRun();
      const movements = isLong ? Number(process.env.ELIGO_TEST_MOVEMENTS || 10_000) : 30;
      const say = (text: string) => isLong && console.log(`tie-out: ${text}`);
      say(`${movements} movements, ELIGO_TEST_SEED=${seed}`);
      const day = await dayOfMoney(running, { movements, atOnce: 6, random: randomOf(seed) }, say);
      say(JSON.stringify(day));
      expect(day.faults).toEqual([]);
      expect(day.allMovements).toBeGreaterThanOrEqual(movements);
      expect(Object.keys(day.movements)).toEqual([
        ...['adjustment', 'charge', 'payout', 'payout_failure', 'refund', 'refund_failure'],
      ]);
      expect([day.ledgerBalance, day.reportBalance]).toEqual([day.sandboxBalance, day.sandboxBalance]);
      expect(day.sandboxBalance).not.toBe(0);
      const listed = { processor_accounts: 1, processor_movements: day.allMovements };
      const { processor } = running.eligo;
      const sandbox = { ELIGO_SANDBOX_URL: processor.url, ELIGO_SANDBOX_KEY: processor.key };
      expect(await runCli(running.eligo, ['ledger', 'check', '--processor'], sandbox)).toEqual({
        ...{ wrong: [], unsettled: [], not_compared: [], compared_with_processor: true, ...listed },
      });
      const { admin } = running.eligo.database;
      const add = (cents: number) =>
        admin(
          `update refunds.ledger_totals set amount_cents = amount_cents + $1 where ledger_account = 'processor_balance'`,
          [cents],
        );
      await add(1);
      const differs = { fault: 'processor_balance_differs', state: 'wrong', id: accountAtSandbox() };
      expect(await balanceFaults()).toEqual([expect.objectContaining(differs)]);
      await add(-1);
    },
    isLong ? 3_600_000 : 120_000,
  );

  describeMovingBalance(() => ({ running, database }));

  it('counts what an operator moved out of suspense, which is never more than is there, and never edited [D14.256, D14.155]', async () => {
    const { api, eligo } = running;
    const { admin } = eligo.database;
    const movement = 'txn_byhand';
    await postFee(admin, movement);
    const scope = { accountId: eligo.account, testMode: true };
    const found = async () =>
      (await checkLedger(database)).filter(({ id }) => id === movement).map(({ detail }) => detail);
    expect(await found()).toEqual(['other of -300, 300 in suspense']);
    const move = (amountCents: number, toAccount = 'fees') =>
      moveFromSuspense(database, scope, {
        ...{ movementId: movement, toAccount, amountCents, reason: 'Radar, invoice 7', movedBy: 'Ada' },
      });
    await expect(move(301)).rejects.toThrow('Only 300 cents');
    const byCommand = ['ledger', 'move', movement, '--account', eligo.account, '--mode', 'test', '--to', 'fees'];
    const moved = await runCli(eligo, [...byCommand, '--amount', '100', '--reason', 'Radar, invoice 7']);
    expect(moved).toMatchObject({ left_in_suspense: 200 });
    expect(await found()).toEqual(['other of -300, 200 in suspense']);
    const ends = await Promise.allSettled([move(200), move(200, 'disputes')]);
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await checkLedger(database)).toEqual([]);
    const { reconciliation } = await api.ok(
      'GET',
      `/v1/reports/reconciliation?to=${new Date().toISOString().slice(0, 10)}`,
    );
    const [day] = records(reconciliation as Json, 'days');
    const shown = records(day ?? {}, 'suspense').map(({ type, amount_in_suspense }) => [type, amount_in_suspense]);
    expect(shown).toEqual([
      ['stripe_fee', -300],
      ['suspense_move', 100],
      ['suspense_move', 200],
    ]);
    const audited = await admin<{ reason: string; moved_by: string }>(
      'select reason, moved_by from refunds.suspense_moves',
    );
    expect(audited).toHaveLength(2);
    expect(audited[0]).toMatchObject({ reason: 'Radar, invoice 7', moved_by: expect.stringMatching(/./) });
    const actions = await admin(`select 1 from refunds.operator_actions where action = 'ledger move' and not refused`);
    expect(actions).toHaveLength(1);
    for (const change of ['update refunds.suspense_moves set amount_cents = 1', 'delete from refunds.suspense_moves']) {
      await expect(admin(change)).rejects.toThrow('cannot be changed or deleted');
    }
    const again = (id: string) =>
      admin(
        `insert into refunds.suspense_moves select account_id, test_mode, $1, moved_transaction_id, 'fees', 1, 'r', 'o'
           from refunds.suspense_moves limit 1`,
        [id],
      );
    await expect(again('fltx_again')).rejects.toThrow('of which 300 were moved');
    await admin('alter table refunds.suspense_moves disable trigger guard_suspense_move');
    await expect(again('fltx_again')).rejects.toThrow('foreign key');
    await expect(again('fltx_byhand')).rejects.toThrow('is posted as something else');
    await admin('alter table refunds.suspense_moves enable trigger guard_suspense_move');
    await booksAgree(eligo);
  }, 60_000);

  describeBusyRefunds(() => running);
  describeRepair(() => ({ running, database }));
});

/** A fee of the processor, as the ledger posts one: no record explains it. */
async function postFee(admin: Admin, movement: string): Promise<void> {
  await admin(
    `with place as (
        select account_id, test_mode, processor, processor_account from refunds.ledger_transactions where kind = 'charge' limit 1
      ), listed as (
        insert into refunds.processor_transactions (account_id, test_mode, processor, processor_account, id, type, reporting_category, amount_cents, fee_cents,
          application_fee_cents, net_cents, available_on, created_at, match_at)
        select *, $1, 'stripe_fee', 'fee', -300, 0, 0, -300, now(), now(), null from place
      ), balance as (
        insert into refunds.balance_transactions (account_id, test_mode, id, type, amount_cents, fee_cents, settled_cents, status, available_on, source_id,
          reporting_category, created_at)
        select account_id, test_mode, $2, 'stripe_fee', -300, 0, -300, 'available', now(), $1, 'fee', now() from place
      ), posted as (
        insert into refunds.ledger_transactions (account_id, test_mode, processor, processor_account, id, kind, processor_transaction_id, amount_cents, fee_cents,
          net_cents, balance_transaction_id, occurred_at)
        select *, 'fltx_byhand', 'other', $1, -300, 0, -300, $2, now() from place
      )
      insert into refunds.ledger_postings (account_id, test_mode, transaction_id, ledger_account, amount_cents)
      select account_id, test_mode, 'fltx_byhand', name, cents from place, (values ('processor_balance', -300), ('suspense', 300)) side (name, cents)`,
    [movement, newId('balance_transaction')],
  );
}

/** Puts the charge into suspense, and moves so much of it to `fees`, but posts that to this account. */
function movedCharge(cents: string, account: string): string {
  return `with put as (
      update refunds.ledger_postings p set ledger_account = 'suspense' from refunds.ledger_transactions t
       where t.id = p.transaction_id and t.kind = 'charge' and p.ledger_account = 'receivable' returning t.*, p.amount_cents as posted_cents
    ), move as (
      insert into refunds.suspense_moves select account_id, test_mode, 'fltx_move', id, 'fees', ${cents}, 'r', 'o' from put
    ), transaction as (
      insert into refunds.ledger_transactions (account_id, test_mode, id, kind, processor, processor_account, entry_id, amount_cents, occurred_at)
      select account_id, test_mode, 'fltx_move', 'suspense_move', processor, processor_account, 'fltx_move', ${cents}, now() from put
    ), posting as (
      insert into refunds.ledger_postings (account_id, test_mode, transaction_id, ledger_account, amount_cents)
      select account_id, test_mode, 'fltx_move', name, sign * sign(posted_cents) * (${cents})
        from put, (values ('suspense', -1), ('${account}', 1)) side (name, sign)
    )`;
}

type Admin = TestDatabase['admin'];

class Undone extends Error {}

/** What is found after a damage that nothing but a superuser can do; it is undone. */
async function damaged(database: Database, damage: string): Promise<{ named: string[]; faults: Fault[] }> {
  const seen: { named: string[]; faults: Fault[] } = { named: [], faults: [] };
  await withTx(database, null, async (tx) => {
    // Neither triggers nor foreign keys are asked.
    await tx.execute(unscoped('damage.off', `set local session_replication_role = replica`), null);
    const rows = await tx.rows(unscoped<Record<string, string>>(`damage.${seed++}`, damage), null);
    seen.named = rows.map((row) => Object.values(row)[0] ?? '');
    // In ranges of two rows: no fault hides between two of them.
    seen.faults = await checkLedger(tx, { size: 2 });
    throw new Undone();
  }).catch((error: unknown) => {
    if (!(error instanceof Undone)) throw error;
  });
  return seen;
}

let seed = 0;
