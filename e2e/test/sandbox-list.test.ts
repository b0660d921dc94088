import { billingService } from '@eligo/billing';
import { catalogService } from '@eligo/catalog';
import { checkoutService } from '@eligo/checkout';
import { checkBooks, type ProcessorList } from '@eligo/cli';
import { type Database, openDatabase } from '@eligo/postgres';
import { sandboxAccountOf } from '@eligo/processor';
import { refundsService } from '@eligo/refunds';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { webhooksService } from '@eligo/webhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

/** A charge as the sandbox lists it. */
interface Listed {
  readonly attempt: string;
  readonly captured?: number;
  readonly released?: boolean;
}

const accountId = 'facct_listed';
const processorAccount = sandboxAccountOf({ accountId, testMode: true });

function listOf(charges: readonly Listed[], testMode = true): ProcessorList {
  const account = sandboxAccountOf({ accountId, testMode });
  const rows = charges.map(({ attempt, captured = 0, released = false }, n) => ({
    ...{ id: `ch_${n}`, account, amount: 5_000, amount_captured: captured, released, status: 'succeeded' },
    metadata: { attempt },
  }));
  return {
    async *charges() {
      // A page of one: what belongs together is on different pages.
      for (const row of rows) yield [row];
    },
    async *refunds() {
      yield [];
    },
  };
}

describe('the sandbox’s list', () => {
  let test: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    test = await testDatabase(catalogService, checkoutService, billingService, refundsService, webhooksService);
    database = openDatabase({ url: test.adminUrl, applicationName: 'ledger check', max: 1 });
  }, 60_000);
  afterAll(async () => {
    await database?.close();
    await test?.drop();
  });

  const unguarded = (statement: string, values: unknown[] = []) =>
    test.admin(`set session_replication_role = replica`).then(() => test.admin(statement, values));

  // A session's card that is held by two intents: the first one is renewed by the second.
  beforeEach(async () => {
    for (const table of ['intent_operations', 'charge_attempts', 'payment_intents', 'ledger_entries'])
      await unguarded(`delete from checkout.${table}`);
    for (const n of [1, 2]) await hold(n);
  });

  async function hold(n: number, { testMode = true, processor = 'sandbox', leg = 'health' } = {}): Promise<void> {
    await unguarded(
      `insert into checkout.payment_intents (account_id, test_mode, id, session_id, leg, capture_method, status, amount_cents, amount_capturable_cents,
         processor_intent_id, created_at, processor, processor_account)
       values ($1, $2, 'fpi_' || $3, 'fcs_one', $6, 'manual', 'requires_capture', 5000, 5000, 'pi_' || $3, now(), $4::checkout.processor, $5)`,
      [accountId, testMode, n, processor, processorAccount, leg],
    );
    await unguarded(
      `insert into checkout.charge_attempts (account_id, test_mode, id, purpose, subject_id, leg, driver, payment_intent_id, payment_method_id,
         processor_payment_method_id, off_session, capture_method, amount_cents, status, lease_until, processor_intent_id, acting_at)
       values ($1, $2, 'fatt_' || $3, case $3::int % 2 when 1 then 'renewed' else 'session' end, 'fcs_one', $4, 'page', 'fpi_' || $3, 'fpm_one', 'pm_one', false,
         'manual', 5000, 'succeeded', now(), 'pi_' || $3, now())`,
      [accountId, testMode, n, leg],
    );
  }

  const voidOfFirst = (status: string) =>
    unguarded(
      `insert into checkout.intent_operations (account_id, test_mode, id, payment_intent_id, attempt_id, processor_intent_id, kind, amount_cents, status, acting_at)
       values ($1, true, 'fop_1', 'fpi_1', 'fatt_1', 'pi_1', 'cancel', 5000, $2, now())`,
      [accountId, status],
    );

  const found = async (list: ProcessorList, fault: string) =>
    (await checkBooks(database, list, { size: 1 }))
      .filter((one) => one.fault === fault)
      .map(({ state, id }) => [state, id]);
  const twice = (...charges: Listed[]) => found(listOf(charges), 'charged_twice_at_the_processor');

  it('has two holds of a card while the hold that was renewed waits for its void, which is no second charge [D14.240, D14.155]', async () => {
    await voidOfFirst('pending');
    expect(await twice({ attempt: 'fatt_1' }, { attempt: 'fatt_2' })).toEqual([['unsettled', 'fcs_one']]);
    expect(await twice({ attempt: 'fatt_1', released: true }, { attempt: 'fatt_2' })).toEqual([]);
    // Money that was taken twice is a second charge, whatever is on its way.
    expect(await twice({ attempt: 'fatt_1', captured: 5_000 }, { attempt: 'fatt_2', captured: 5_000 })).toEqual([
      ['wrong', 'fcs_one'],
    ]);
  });

  it('has a second charge where both holds stay, or where the void is done and the hold is still there [D14.240, D14.155]', async () => {
    expect(await twice({ attempt: 'fatt_1' }, { attempt: 'fatt_2' })).toEqual([['wrong', 'fcs_one']]);
    await voidOfFirst('done');
    expect(await twice({ attempt: 'fatt_1' }, { attempt: 'fatt_2' })).toEqual([['wrong', 'fcs_one']]);
  });

  it('has two second charges where both cards of a session are charged twice [D14.155]', async () => {
    for (const n of [3, 4]) await hold(n, { leg: 'other' });
    const charges = [1, 2, 3, 4].map((n) => ({ attempt: `fatt_${n}`, captured: 5_000 }));
    const faults = await checkBooks(database, listOf(charges), { size: 1 });
    expect(
      faults.filter(({ fault }) => fault === 'charged_twice_at_the_processor').map(({ id, detail }) => [id, detail]),
    ).toEqual([
      ['fcs_one', '2 charges for health'],
      ['fcs_one', '2 charges for other'],
    ]);
  });

  it('has two holds while a renewal is not recorded yet, which is no second charge [D14.240, D14.155]', async () => {
    await unguarded(`update checkout.charge_attempts set purpose = 'renewal', status = 'unknown' where id = 'fatt_2'`);
    expect(await twice({ attempt: 'fatt_1' }, { attempt: 'fatt_2' })).toEqual([['unsettled', 'fcs_one']]);
  });

  it('answers for live money, too, where that is at the sandbox, and not for what is at Stripe [D14.155]', async () => {
    for (const testMode of [true, false]) {
      await unguarded('delete from checkout.charge_attempts');
      await unguarded('delete from checkout.payment_intents');
      await hold(2, { testMode });
      await unguarded('update checkout.payment_intents set amount_received_cents = 5000');
      const charges = (captured: number) => listOf([{ attempt: 'fatt_2', captured }], testMode);
      expect(await found(charges(5_000), 'recorded_but_not_charged')).toEqual([]);
      for (const list of [charges(4_999), listOf([])])
        expect(await found(list, 'recorded_but_not_charged')).toEqual([['wrong', 'fpi_2']]);
      // Its account is the sandbox's of this mode.
      expect(await found(charges(5_000), 'charge_not_recorded')).toEqual([]);
      expect(await found(charges(4_999), 'charge_not_recorded')).toEqual([['wrong', 'ch_0']]);
    }
    await unguarded(`update checkout.payment_intents set processor = 'stripe'`);
    expect(await found(listOf([]), 'recorded_but_not_charged')).toEqual([]);
  });
});
