import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attemptStates, itemStates, refundStates } from '../src/domain/refund-states.ts';
import { refundsService } from '../src/service.ts';

let place: TestDatabase;
beforeAll(async () => {
  place = await testDatabase(refundsService);
});
afterAll(() => place.drop());

// The guard's own word on a move, asked by its function alone: no other constraint has a say.
async function isAllowed(trigger: string, from: string, to: string): Promise<boolean> {
  const table = `guard_probe_${trigger}`;
  try {
    await place.admin(`create table if not exists public.${table} (status text, amount_cents bigint)`);
    await place.admin(`create or replace trigger probe before update on public.${table} for each row
      execute function refunds.${trigger}()`);
    await place.admin(`delete from public.${table}`);
    await place.admin(`insert into public.${table} values ($1, null)`, [from]);
    await place.admin(`update public.${table} set status = $1`, [to]);
    return true;
  } catch (error) {
    if (error instanceof Error && /does not move/.test(error.message)) return false;
    throw error;
  }
}

describe('the database holds the state tables', () => {
  it.each([
    ['guard_refund', refundStates],
    ['guard_refund_item', itemStates],
    ['guard_refund_attempt', attemptStates],
  ] as const)('%s allows exactly the moves of the domain', async (trigger, table) => {
    const states: readonly string[] = table.states;
    const canMove = table.canMove as (from: string, to: string) => boolean;
    for (const from of states) {
      for (const to of states) {
        if (from === to) continue;
        expect({ from, to, allowed: await isAllowed(trigger, from, to) }).toEqual({
          from,
          to,
          allowed: canMove(from, to),
        });
      }
    }
  });
});

describe('the database holds the money', () => {
  const entry = (transaction: string, account: string, amount: number) =>
    `('facct_1', true, '${transaction}', '${account}', ${amount}, 'refund_pending', 'fre_1', 'fpi_${transaction}', now())`;

  it('refuses a ledger transaction that does not balance', async () => {
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
