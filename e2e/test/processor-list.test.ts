import { checkoutService } from '@eligo/checkout';
import { checkLedger, checkProcessor } from '@eligo/cli';
import { type Database, openDatabase } from '@eligo/postgres';
import { openProcessors, type Processors } from '@eligo/processor';
import { refundsService } from '@eligo/refunds';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ListedMovement, type MovementList, startMovementList } from '../src/movement-list.ts';

describe('eligo ledger check --processor', () => {
  const account = 'facct_compared';
  const day = 86_400;
  // A hundred days ago, and 120 movements on each of three days of different months, 40 in one second.
  const begins = Math.floor(Date.now() / 1_000 / day) * day - 100 * day;
  const movements: ListedMovement[] = [0, 40, 80].flatMap((days) =>
    Array.from({ length: 120 }, (_, n) => ({
      ...{ id: `txn_${days}_${n}`, created: begins + days * day + Math.floor(n / 40) },
      ...{ amount: 1_000 + n, fee: 59 },
    })),
  );
  let test: TestDatabase;
  let database: Database;
  let list: MovementList;
  let processors: Processors;

  beforeAll(async () => {
    test = await testDatabase(checkoutService, refundsService);
    database = openDatabase({ url: test.adminUrl, applicationName: 'ledger check', max: 1 });
    list = await startMovementList(movements);
    processors = openProcessors(
      { STRIPE_SECRET_KEY: 'sk_live_compared', STRIPE_ACCOUNTS: JSON.stringify({ [account]: 'acct_compared' }) },
      { stripeUrl: list.url },
    );
    await test.admin(
      `insert into refunds.ledger_feeds (account_id, test_mode, processor, processor_account, begins_at, read_from, next_read_at)
       values ($1, false, 'stripe', 'acct_compared', to_timestamp($2), now(), now())`,
      [account, begins],
    );
    await test.admin(
      `insert into refunds.processor_transactions (account_id, test_mode, processor, processor_account, id, type, reporting_category, amount_cents, fee_cents,
         application_fee_cents, net_cents, available_on, created_at, match_at)
       select $1, false, 'stripe', 'acct_compared', m->>'id', 'charge', 'charge', (m->>'amount')::int, (m->>'fee')::int, 0, (m->>'amount')::int - (m->>'fee')::int,
         now(), to_timestamp((m->>'created')::int), null from jsonb_array_elements($2) m`,
      [account, JSON.stringify(movements)],
    );
  }, 60_000);
  afterAll(async () => {
    processors?.close();
    await list?.close();
    await database?.close();
    await test?.drop();
  });

  const check = (from?: string) => checkProcessor(database, processors, { from });
  const found = async (from?: string) =>
    (await check(from)).faults.map(({ fault, state, id, account_id }) => [fault, state, id, account_id]);
  const firstDay = new Date(begins * 1_000).toISOString().slice(0, 10);

  it('names what the processor lists and the books do not have, and the other way round, to the cent; seconds and pages are no borders [D14.157]', async () => {
    const row = `account_id = '${account}' and id =`;
    await test.admin(
      `update refunds.processor_transactions set fee_cents = 60, net_cents = net_cents - 1 where ${row} 'txn_0_39'`,
    );
    await test.admin(`update refunds.processor_transactions set id = 'txn_other' where ${row} 'txn_40_60'`);
    expect((await found()).toSorted()).toEqual([['movement_stored_differently', 'wrong', 'txn_0_39', account]]);
    await test.admin(
      `update refunds.processor_transactions set fee_cents = 59, net_cents = net_cents + 1 where ${row} 'txn_0_39'`,
    );
    expect((await found()).toSorted()).toEqual([
      ['movement_not_listed', 'wrong', 'txn_other', account],
      ['movement_not_stored', 'wrong', 'txn_40_60', account],
    ]);
    // What the processor has just made is on its way.
    const readFrom = (at: string) => test.admin(`update refunds.ledger_feeds set read_from = ${at}`);
    await readFrom('begins_at');
    expect(await found()).toContainEqual(['movement_not_stored', 'unsettled', 'txn_40_60', account]);
    await readFrom('now()');
    // What agreed before is not read again, and what differs is.
    const before = list.pages();
    expect(await found()).toHaveLength(2);
    expect(list.pages() - before).toBe(2);
    await test.admin(`update refunds.processor_transactions set id = 'txn_40_60' where ${row} 'txn_other'`);
    expect(await check()).toMatchObject({ faults: [], accounts: 1, movements: 240 });
  });

  it('reads only what is newer than the last day that agreed, or from a day on; the sums of that day are checked without it [D14.157]', async () => {
    const before = list.pages();
    expect(await check()).toEqual({ faults: [], accounts: 1, movements: 0 });
    expect(list.pages() - before).toBe(1);
    expect(await check(firstDay)).toEqual({ faults: [], accounts: 1, movements: 360 });
    const day = `checked_days where account_id = '${account}' and movements > 0`;
    expect(
      await test.admin(`select sum(movements)::int as all, sum(net_cents)::int as net from refunds.${day}`),
    ).toEqual([{ all: 360, net: movements.reduce((sum, { amount, fee }) => sum + amount - fee, 0) }]);
    const local = async () =>
      (await checkLedger(database)).filter(({ fault }) => fault === 'day_differs_from_processor').map(({ id }) => id);
    expect(await local()).toEqual([]);
    const gone = await test.admin(`delete from refunds.processor_transactions where id = 'txn_0_7' returning *`);
    expect(await local()).toEqual([`${firstDay} acct_compared`]);
    expect(await check()).toMatchObject({ faults: [] });
    expect(await found(firstDay)).toEqual([['movement_not_stored', 'wrong', 'txn_0_7', account]]);
    await test.admin(
      `insert into refunds.processor_transactions select * from jsonb_populate_record(null::refunds.processor_transactions, $1)`,
      [JSON.stringify(gone[0])],
    );
    expect(await local()).toEqual([]);
  });

  it('reads the whole list again once the books begin earlier, and says which account it cannot ask [D14.157]', async () => {
    await test.admin(`update refunds.ledger_feeds set begins_at = begins_at - interval '1 day'`);
    // A look from a later day on leaves the days before it to be compared.
    const laterDay = new Date((begins + 70 * day) * 1_000).toISOString().slice(0, 10);
    expect(await check(laterDay)).toEqual({ faults: [], accounts: 1, movements: 120 });
    expect(await check()).toEqual({ faults: [], accounts: 1, movements: 360 });
    const without = openProcessors({});
    expect((await checkProcessor(database, without)).faults).toEqual([
      expect.objectContaining({ fault: 'processor_not_compared', state: 'unsettled', id: 'acct_compared' }),
    ]);
    without.close();
  });
});
