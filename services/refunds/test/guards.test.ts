import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { disputeStates } from '../src/domain/dispute-states.ts';
import { attemptStates, itemStates, refundStates } from '../src/domain/refund-states.ts';
import { refundsService } from '../src/service.ts';

let place: TestDatabase;
beforeAll(async () => {
  place = await testDatabase(refundsService);
});
afterAll(() => place.drop());

// What a row needs beside its status, so that only its guard has a say on where it moves.
const rowOf: Record<string, string> = {
  refunds: `(account_id, test_mode, id, instruction, status) values ('facct_1', true, 'fre_1', '', $1)`,
  disputes: `(account_id, test_mode, id, processor, processor_account, processor_dispute_id, lease_until, status) values ('facct_1', true, 'fdp_1', 'sandbox', 'acct_1', 'du_1', now(), $1)`,
  refund_items: `(account_id, test_mode, refund_id, payment_intent_id, position, payment_method_id, charge_id, processor_intent_id,
    amount_cents, status) values ('facct_1', true, 'fre_1', 'fpi_1', 0, 'fpm_1', 'fch_1', 'pi_1', 1, $1)`,
  refund_attempts: `(account_id, test_mode, id, refund_id, payment_intent_id, processor_intent_id, amount_cents, lease_until, next_check_at,
    status) values ('facct_1', true, 'fatt_1', 'fre_1', 'fpi_1', 'pi_1', 1, now(), now(), $1)`,
};

// The guard's own word on a move. What else it finds wrong with the row it says only of a move that it allows.
async function isAllowed(name: string, trigger: string, from: string, to: string): Promise<boolean> {
  const table = `guard_probe_${name}`;
  try {
    await place.admin(`create table if not exists public.${table} (like refunds.${name} including defaults)`);
    await place.admin(`create or replace trigger probe before update on public.${table} for each row
      execute function refunds.${trigger}()`);
    await place.admin(`delete from public.${table}`);
    await place.admin(`insert into public.${table} ${rowOf[name]}`, [from]);
    await place.admin(`update public.${table} set status = $1`, [to]);
    return true;
  } catch (error) {
    if (error instanceof Error && /does not move/.test(error.message)) return false;
    if (
      error instanceof Error &&
      /violates (whole_once|refused_for|releasing_|only_|known_|sent_|one_)/.test(error.message)
    )
      return true;
    throw error;
  }
}

describe('the database holds the state tables', () => {
  it.each([
    ['refunds', 'guard_refund', refundStates],
    ['refund_items', 'guard_refund_item', itemStates],
    ['refund_attempts', 'guard_refund_attempt', attemptStates],
    ['disputes', 'guard_dispute', disputeStates],
  ] as const)('the guard of %s allows exactly the moves of the domain [STATE-1]', async (name, trigger, table) => {
    const states: readonly string[] = table.states;
    const canMove = table.canMove as (from: string, to: string) => boolean;
    for (const from of states) {
      for (const to of states) {
        if (from === to) continue;
        expect({ from, to, allowed: await isAllowed(name, trigger, from, to) }).toEqual({
          from,
          to,
          allowed: canMove(from, to),
        });
      }
    }
  });
});

describe('the database holds the money', () => {
  const entry = (transaction: string, account: string, amount: number, credit = 'null') =>
    `('facct_1', true, '${transaction}', '${account}', ${amount}, 'refund_pending', 'fre_1', 'fpi_${transaction}', now(), ${credit})`;

  it('refuses a movement that is not one amount from one account to another', async () => {
    const book = (text: string) => place.admin(`insert into refunds.ledger_entries values ${text}`);
    await expect(book(entry('m1', 'refunds', 5, `'refunds'`))).rejects.toThrow(/movement_has_two_sides/);
    await expect(book(entry('m1', 'refunds', -5, `'refunds_payable'`))).rejects.toThrow(/movement_has_two_sides/);
    await expect(book(entry('m1', 'refunds', 5, `'till'`))).rejects.toThrow(/movement_has_two_sides/);
    await expect(book(entry('m1', 'refunds', 0, `'refunds_payable'`))).rejects.toThrow(/amount_cents_check/);
    await book(entry('m1', 'refunds', 5, `'refunds_payable'`));
    await expect(book(entry('m1', 'refunds', 5, `'refunds_payable'`))).rejects.toThrow(/duplicate key/);
  });

  it('refuses sides that are booked one by one and do not balance [D6.6]', async () => {
    await expect(
      place.admin(
        `insert into refunds.ledger_entries values ${entry('t1', 'refunds', 5)}, ${entry('t1', 'refunds_payable', -4)}`,
      ),
    ).rejects.toThrow(/sum to 1/);
    await place.admin(
      `insert into refunds.ledger_entries values ${entry('t2', 'refunds', 5)}, ${entry('t2', 'refunds_payable', -5)}`,
    );
  });

  it('does not let the service change or remove what was booked', async () => {
    const database = place.open();
    for (const text of ['update refunds.ledger_entries set amount_cents = 1', 'delete from refunds.ledger_entries']) {
      await expect(database.rows({ kind: 'unscoped', name: text, text }, null)).rejects.toThrow(/permission denied/);
    }
  });

  it('refuses a refund that is not the sum of its parts', async () => {
    await expect(
      place.admin(`with r as (
        insert into refunds.refunds (account_id, test_mode, id, status, subject_session_id, instruction, amount_cents,
          payment_intent_id, balance_transaction_id, created_at)
        values ('facct_1', true, 'fre_2', 'pending', 'fcs_1', '', 100, 'fpi_1', 'fbtxn_1', now()) returning id
      ) insert into refunds.refund_items (account_id, test_mode, refund_id, payment_intent_id, position, payment_method_id,
          charge_id, processor_intent_id, amount_cents, status)
        select 'facct_1', true, id, 'fpi_1', 0, 'fpm_1', 'fch_1', 'pi_1', 99, 'pending' from r`),
    ).rejects.toThrow(/sum to 99 and not to 100/);
  });

  // A refund of 100 on two cards, 60 and 40, the second of which is about to fail.
  async function splitRefund(id: string): Promise<void> {
    await place.admin(`with r as (
      insert into refunds.refunds (account_id, test_mode, id, status, subject_session_id, instruction, amount_cents,
        payment_intent_id, balance_transaction_id, created_at)
      values ('facct_1', true, '${id}', 'pending', 'fcs_1', '', 100, 'fpi_1', 'fbtxn_${id}', now()) returning id
    ) insert into refunds.refund_items (account_id, test_mode, refund_id, payment_intent_id, position, payment_method_id,
        charge_id, processor_intent_id, amount_cents, status, end_status, next_check_at)
      select 'facct_1', true, id, 'fpi_1', 0, 'fpm_1', 'fch_1', 'pi_1', 60, 'pending', null, null from r union all
      select 'facct_1', true, id, 'fpi_2', 1, 'fpm_2', 'fch_2', 'pi_2', 40, 'releasing', 'failed', now() from r`);
  }

  it('refuses a card of a refund whose balance transaction is missing, another amount, or that of another card [D14.154]', async () => {
    // A refund of 100 on two cards, 60 and 40, with these balance transactions.
    const refund = (cards: readonly (readonly [balance: string, cents: number])[], balances: string) =>
      place.admin(`with r as (
        insert into refunds.refunds (account_id, test_mode, id, status, subject_session_id, instruction, amount_cents,
          payment_intent_id, balance_transaction_id, created_at)
        values ('facct_1', true, 'fre_b', 'pending', 'fcs_1', '', 100, 'fpi_1', 'fbtxn_b1', now()) returning id
      ), balances as (
        insert into refunds.balance_transactions (account_id, test_mode, id, type, amount_cents, status, source_id, reporting_category, available_on, created_at)
        select 'facct_1', true, b.id, 'refund', b.cents, 'pending', r.id, 'refund', now(), now() from r, (values ${balances}) b (id, cents)
      ) insert into refunds.refund_items (account_id, test_mode, refund_id, payment_intent_id, position, payment_method_id,
          charge_id, processor_intent_id, amount_cents, status, balance_transaction_id)
        select 'facct_1', true, r.id, 'fpi_' || c.n, c.n, 'fpm_1', 'fch_1', 'pi_1', c.cents, 'pending', c.balance
          from r, (values ${cards.map(([balance, cents], n) => `(${n}, ${cents}, ${balance})`).join(', ')}) c (n, cents, balance)`);
    const both = `('fbtxn_b1', -60), ('fbtxn_b2', -40)`;
    const [first, second] = [`'fbtxn_b1'`, `'fbtxn_b2'`];
    const refused = /no balance transaction of its own/;
    await expect(
      refund(
        [
          [first, 60],
          [second, 40],
        ],
        `('fbtxn_b1', -60)`,
      ),
    ).rejects.toThrow(refused);
    await expect(
      refund(
        [
          [first, 60],
          [second, 40],
        ],
        `('fbtxn_b1', -60), ('fbtxn_b2', -41)`,
      ),
    ).rejects.toThrow(refused);
    await expect(
      refund(
        [
          [first, 50],
          [first, 50],
        ],
        `('fbtxn_b1', -50)`,
      ),
    ).rejects.toThrow(refused);
    await expect(
      refund(
        [
          [first, 60],
          ['null', 40],
        ],
        both,
      ),
    ).rejects.toThrow(refused);
    await refund(
      [
        [first, 60],
        [second, 40],
      ],
      both,
    );
  });

  const attempt = (refundId: string, intentId: string, processorIntentId: string, amount: number) =>
    place.admin(
      `insert into refunds.refund_attempts (account_id, test_mode, id, refund_id, payment_intent_id, processor_intent_id,
         amount_cents, status, lease_until, next_check_at)
       values ('facct_1', true, $1, $2, $3, $4, $5, 'created', now(), now())`,
      [`fatt_${refundId}_${processorIntentId}_${amount}`, refundId, intentId, processorIntentId, amount],
    );

  it('lets the processor be asked for nothing but what was reserved of a card, of that card', async () => {
    await splitRefund('fre_3');
    for (const [intentId, processorIntentId, amount] of [
      ['fpi_1', 'pi_1', 61],
      ['fpi_1', 'pi_2', 60],
      ['fpi_2', 'pi_2', 60],
    ] as const) {
      await expect(attempt('fre_3', intentId, processorIntentId, amount)).rejects.toThrow(/asks_for_its_item/);
    }
    await attempt('fre_3', 'fpi_1', 'pi_1', 60);
  });

  it('refuses a refund that calls failed what is not the sum of its failed parts', async () => {
    await splitRefund('fre_4');
    const end = `update refunds.refund_items set status = 'failed', next_check_at = null
      where refund_id = 'fre_4' and payment_intent_id = 'fpi_2'`;
    await expect(place.admin(end)).rejects.toThrow(/sum to 40 and not to 0/);
    await place.admin(`with ended as (${end}) update refunds.refunds set failed_cents = 40 where id = 'fre_4'`);
  });
});

describe('the database holds what leaves suspense', () => {
  const columns = 'account_id, test_mode';

  // One cent out of suspense, to the fees, as the command line posts it.
  const move = (id: string, of: string) =>
    place.admin(`with move as (
        insert into refunds.suspense_moves values ('facct_1', true, '${id}', '${of}', 'fees', 1, 'a reason', 'Ada')
      ), posted as (
        insert into refunds.ledger_transactions (${columns}, id, kind, processor, processor_account, entry_id, amount_cents, occurred_at)
        values ('facct_1', true, '${id}', 'suspense_move', 'sandbox', 'acct_1', '${id}', 1, now())
      ) insert into refunds.ledger_postings values ('facct_1', true, '${id}', 'suspense', -1), ('facct_1', true, '${id}', 'fees', 1)`);

  it('lets a movement alone be moved, and no move be moved again, changed or deleted [D14.256]', async () => {
    await place.admin(`with posted as (
        insert into refunds.ledger_transactions (${columns}, id, kind, processor, processor_account, processor_transaction_id, amount_cents, fee_cents,
          net_cents, occurred_at)
        values ('facct_1', true, 'fltx_fee', 'other', 'sandbox', 'acct_1', 'txn_fee', -2, 0, -2, now())
      ) insert into refunds.ledger_postings values ('facct_1', true, 'fltx_fee', 'processor_balance', -2), ('facct_1', true, 'fltx_fee', 'suspense', 2)`);
    await move('fltx_1', 'fltx_fee');
    await expect(move('fltx_2', 'fltx_1')).rejects.toThrow('fltx_1 is not a movement on the balance');
    await move('fltx_3', 'fltx_fee');
    await expect(move('fltx_4', 'fltx_fee')).rejects.toThrow('has 2 in suspense, of which 2 were moved');
    for (const change of ['update refunds.suspense_moves set amount_cents = 2', 'delete from refunds.suspense_moves']) {
      await expect(place.admin(`${change} where id = 'fltx_1'`)).rejects.toThrow(
        'suspense move fltx_1 cannot be changed or deleted',
      );
    }
  });
});

describe('the guards refuse what no check constraint holds any more', () => {
  const row = (table: string, columns: Record<string, string>) =>
    place.admin(
      `insert into refunds.${table} (${Object.keys(columns).join(', ')}) values (${Object.values(columns).join(', ')})`,
    );
  const own = { account_id: `'facct_1'`, test_mode: 'true' };
  const requested = { ...own, id: `'fre_g'`, status: `'requested'`, subject_session_id: `'fcs_1'`, instruction: `''` };
  const pending = {
    ...requested,
    ...{ status: `'pending'`, amount_cents: '1', payment_intent_id: `'fpi_1'`, created_at: 'now()' },
    balance_transaction_id: `'fbtxn_1'`,
  };
  const item = {
    ...{ ...own, refund_id: `'fre_g'`, payment_intent_id: `'fpi_1'`, position: '0', payment_method_id: `'fpm_1'` },
    ...{ charge_id: `'fch_1'`, processor_intent_id: `'pi_1'`, amount_cents: '1', status: `'pending'` },
  };
  const attempt = {
    ...{ ...own, id: `'fatt_g'`, refund_id: `'fre_g'`, payment_intent_id: `'fpi_1'`, processor_intent_id: `'pi_1'` },
    ...{ amount_cents: '1', status: `'created'`, lease_until: 'now()', next_check_at: 'now()' },
  };
  const balance = {
    ...{ ...own, id: `'fbtxn_g'`, type: `'refund'`, amount_cents: '-1', status: `'pending'`, available_on: 'now()' },
    ...{ source_id: `'fre_g'`, reporting_category: `'refund'`, created_at: 'now()' },
  };
  const entry = {
    ...{ ...own, transaction_id: `'t_g'`, ledger_account: `'refunds'`, amount_cents: '1', kind: `'refund_pending'` },
    ...{ refund_id: `'fre_g'`, payment_intent_id: `'fpi_g'`, created_at: 'now()' },
  };

  it.each<[string, string, Record<string, string>]>([
    ['refunds_status_check', 'refunds', { ...requested, status: `'lost'` }],
    ['refunds_metadata_check', 'refunds', { ...requested, metadata: `'[]'` }],
    ['refunds_amount_cents_check', 'refunds', { ...pending, amount_cents: '0' }],
    ['refunds_amount_cents_check', 'refunds', { ...pending, amount_cents: '9007199254740992' }],
    ['one_subject', 'refunds', { ...requested, subject_payment_intent_id: `'fpi_1'` }],
    ['one_subject', 'refunds', { ...requested, subject_session_id: 'null' }],
    ['whole_once_pending', 'refunds', { ...requested, amount_cents: '1' }],
    ['whole_once_pending', 'refunds', { ...pending, amount_cents: 'null' }],
    ['whole_once_pending', 'refunds', { ...pending, payment_intent_id: 'null' }],
    ['whole_once_pending', 'refunds', { ...pending, created_at: 'null' }],
    ['whole_once_pending', 'refunds', { ...pending, balance_transaction_id: 'null' }],
    ['refused_for_a_reason', 'refunds', { ...requested, status: `'refused'` }],
    ['refused_for_a_reason', 'refunds', { ...requested, refusal_code: `'conflict'` }],
    ['failed_within_amount', 'refunds', { ...pending, failed_cents: '2' }],
    ['failed_within_amount', 'refunds', { ...pending, failed_cents: '-1' }],
    ['only_requested_is_checked', 'refunds', { ...pending, next_check_at: 'now()' }],
    ['refund_items_position_check', 'refund_items', { ...item, position: '-1' }],
    ['refund_items_amount_cents_check', 'refund_items', { ...item, amount_cents: '0' }],
    ['refund_items_status_check', 'refund_items', { ...item, status: `'lost'` }],
    ['refund_items_end_status_check', 'refund_items', { ...item, end_status: `'lost'` }],
    ['releasing_has_an_end', 'refund_items', { ...item, end_status: `'failed'` }],
    ['releasing_has_an_end', 'refund_items', { ...item, status: `'failed'` }],
    ['only_releasing_is_checked', 'refund_items', { ...item, next_check_at: 'now()' }],
    ['refund_attempts_amount_cents_check', 'refund_attempts', { ...attempt, amount_cents: '0' }],
    ['refund_attempts_status_check', 'refund_attempts', { ...attempt, status: `'lost'` }],
    ['known_once_accepted', 'refund_attempts', { ...attempt, status: `'accepted'`, first_sent_at: 'now()' }],
    ['known_once_accepted', 'refund_attempts', { ...attempt, processor_refund_id: `'re_1'` }],
    ['sent_before_known', 'refund_attempts', { ...attempt, status: `'sending'` }],
    ['asks_for_its_item', 'refund_attempts', { ...attempt, refund_id: `'fre_none'` }],
    ['balance_transactions_type_check', 'balance_transactions', { ...balance, type: `'gift'` }],
    ['balance_transactions_check', 'balance_transactions', { ...balance, amount_cents: '1' }],
    ['balance_transactions_check', 'balance_transactions', { ...balance, type: `'refund_failure'`, amount_cents: '0' }],
    ['balance_transactions_status_check', 'balance_transactions', { ...balance, status: `'lost'` }],
    ['ledger_entries_ledger_account_check', 'ledger_entries', { ...entry, ledger_account: `'till'` }],
    ['ledger_entries_amount_cents_check', 'ledger_entries', { ...entry, amount_cents: '0' }],
    ['ledger_entries_kind_check', 'ledger_entries', { ...entry, kind: `'gift'` }],
  ])('%s in %s', async (constraint, table, columns) => {
    await expect(row(table, columns)).rejects.toMatchObject({ constraint });
  });

  it('also when a row is changed', async () => {
    await row('refunds', requested);
    const change = (set: string) => place.admin(`update refunds.refunds set ${set} where id = 'fre_g'`);
    await expect(change(`status = 'pending'`)).rejects.toMatchObject({ constraint: 'whole_once_pending' });
    await expect(change(`metadata = '1'`)).rejects.toMatchObject({ constraint: 'refunds_metadata_check' });
    await row('balance_transactions', balance);
    const text = `update refunds.balance_transactions set amount_cents = 1 where id = 'fbtxn_g'`;
    await expect(place.admin(text)).rejects.toMatchObject({ constraint: 'balance_transactions_check' });
  });
});
