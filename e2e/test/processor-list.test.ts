import { checkoutService } from '@eligo/checkout';
import { checkLedger, checkProcessor, Findings, lookAtProcessor, lookTwice, rereadMovements } from '@eligo/cli';
import { type Database, openDatabase } from '@eligo/postgres';
import { openProcessors, type Processors } from '@eligo/processor';
import { refundsService } from '@eligo/refunds';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
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
  afterEach(() => list.refuseFrom(Number.POSITIVE_INFINITY));

  const check = (from?: string) => checkProcessor(database, processors, { from });
  const found = async (from?: string) =>
    (await check(from)).faults.map(({ fault, state, id, account_id }) => [fault, state, id, account_id]);
  const daysThatDiffer = async () =>
    (await checkLedger(database)).filter(({ fault }) => fault === 'day_differs_from_processor').map(({ id }) => id);
  const firstDay = new Date(begins * 1_000).toISOString().slice(0, 10);

  const row = `account_id = '${account}' and id =`;
  const atOf = (days: number) => new Date((begins + days * day) * 1_000).toISOString().slice(0, 10);

  it('names every movement that differs, whichever month it is of, both ways round, to the cent; seconds and pages are no borders [D14.157]', async () => {
    await test.admin(
      `update refunds.processor_transactions set fee_cents = 60, net_cents = net_cents - 1 where ${row} 'txn_0_39'`,
    );
    await test.admin(`update refunds.processor_transactions set id = 'txn_other' where ${row} 'txn_40_60'`);
    const inBothMonths = [
      ['movement_not_listed', 'wrong', 'txn_other', account],
      ['movement_not_stored', 'wrong', 'txn_40_60', account],
      ['movement_stored_differently', 'wrong', 'txn_0_39', account],
    ];
    expect(await found()).toEqual(inBothMonths);
    // Every check says which of these days are not as the processor lists them, where the sums tell.
    expect(await daysThatDiffer()).toEqual([`${atOf(0)} acct_compared`]);
    // The days that differ are read again, and then what is newer than the last day that was compared.
    const before = list.pages();
    expect(await found()).toEqual(inBothMonths);
    expect(list.pages() - before).toBe(2 * 2 + 1);
    await test.admin(
      `update refunds.processor_transactions set fee_cents = 59, net_cents = net_cents + 1 where ${row} 'txn_0_39'`,
    );
    const inOneMonth = inBothMonths.slice(0, 2);
    expect(await found()).toEqual(inOneMonth);
    expect(await daysThatDiffer()).toEqual([]);
    // What the processor has just made is on its way.
    const readFrom = (at: string) => test.admin(`update refunds.ledger_feeds set read_from = ${at}`);
    await readFrom('begins_at');
    expect(await found()).toContainEqual(['movement_not_stored', 'unsettled', 'txn_40_60', account]);
    await readFrom('now()');
    expect(await found()).toEqual(inOneMonth);
    await test.admin(`update refunds.processor_transactions set id = 'txn_40_60' where ${row} 'txn_other'`);
    expect(await check()).toEqual({ faults: [], accounts: 1, movements: 120 });
    expect(await check()).toEqual({ faults: [], accounts: 1, movements: 0 });
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
    expect(await daysThatDiffer()).toEqual([]);
    const gone = await test.admin(`delete from refunds.processor_transactions where id = 'txn_0_7' returning *`);
    expect(await daysThatDiffer()).toEqual([`${firstDay} acct_compared`]);
    expect(await check()).toMatchObject({ faults: [] });
    expect(await found(firstDay)).toEqual([['movement_not_stored', 'wrong', 'txn_0_7', account]]);
    await test.admin(
      `insert into refunds.processor_transactions select * from jsonb_populate_record(null::refunds.processor_transactions, $1)`,
      [JSON.stringify(gone[0])],
    );
    expect(await daysThatDiffer()).toEqual([]);
  });

  it('reads the whole list again once the books begin earlier, and says which account it cannot ask [D14.157]', async () => {
    await test.admin(`update refunds.ledger_feeds set begins_at = begins_at - interval '1 day'`);
    // A look from a later day on leaves the days before it to be compared.
    const laterDay = new Date((begins + 70 * day) * 1_000).toISOString().slice(0, 10);
    expect(await check(laterDay)).toEqual({ faults: [], accounts: 1, movements: 120 });
    expect(await check()).toEqual({ faults: [], accounts: 1, movements: 360 });
    const without = openProcessors({});
    expect((await checkProcessor(database, without)).faults).toEqual([
      expect.objectContaining({ fault: 'processor_not_compared', state: 'not_compared', id: 'acct_compared' }),
    ]);
    without.close();
  });

  it('says from which day on it could not compare, and goes on there the next time [D14.157]', async () => {
    await test.admin('delete from refunds.checked_days');
    // The second month is refused.
    list.refuseFrom(begins + 30 * day);
    const refused = await check();
    expect(refused).toMatchObject({ accounts: 1, movements: 120 });
    expect(refused.faults).toEqual([
      expect.objectContaining({
        ...{ fault: 'processor_not_compared', state: 'not_compared', id: 'acct_compared' },
        detail: `from ${atOf(30)} on: the processor answers account_invalid`,
      }),
    ]);
    list.refuseFrom(Number.POSITIVE_INFINITY);
    expect(await check()).toEqual({ faults: [], accounts: 1, movements: 240 });
  });

  it('leaves movements in another currency out of the comparison [D14.152, D14.157]', async () => {
    movements.push({
      id: 'txn_cad',
      created: Math.floor(Date.now() / 1_000) - 7_200,
      amount: 5_000,
      fee: 0,
      currency: 'cad',
    });
    expect(await check()).toEqual({ faults: [], accounts: 1, movements: 0 });
    expect(await check(firstDay)).toEqual({ faults: [], accounts: 1, movements: 360 });
  });

  it('finds a movement that was listed late, which is stored when its days are read again, and then agrees [D14.157]', async () => {
    const created = begins + 40 * day + 4;
    movements.splice(240, 0, { id: 'txn_late', created, amount: 2_500, fee: 103 });
    expect(await check()).toEqual({ faults: [], accounts: 1, movements: 0 });
    expect(await found(firstDay)).toEqual([['movement_not_stored', 'wrong', 'txn_late', account]]);
    const days = (from: number, to: number) => ({ from: Date.parse(atOf(from)), before: Date.parse(atOf(to)) });
    const reread = (from: number, to: number, accountId?: string) =>
      rereadMovements(database, processors, { ...days(from, to), accountId });
    expect(await reread(0, 40)).toMatchObject({ listed: 120, stored: 0 });
    expect(await reread(40, 41, 'facct_another')).toEqual({ accounts: 0, listed: 0, stored: 0, unread: [] });
    expect(await reread(40, 41)).toEqual({ accounts: 1, listed: 121, stored: 1, unread: [] });
    expect(await reread(40, 41)).toMatchObject({ stored: 0 });
    const [stored] = await test.admin(
      `select amount_cents::int as amount, net_cents::int as net, match_at <= now() as is_due from refunds.processor_transactions where ${row} 'txn_late'`,
    );
    expect(stored).toEqual({ amount: 2_500, net: 2_397, is_due: true });
    // The day that differed is compared again.
    expect(await check()).toEqual({ faults: [], accounts: 1, movements: 121 });
    expect(await check()).toEqual({ faults: [], accounts: 1, movements: 0 });
    // One of a day that agreed when it was compared: that day is to be compared again, too.
    movements.splice(241, 0, { id: 'txn_later', created, amount: 1_000, fee: 59 });
    expect(await reread(40, 41)).toMatchObject({ listed: 122, stored: 1 });
    expect(await daysThatDiffer()).toEqual([`${atOf(40)} acct_compared`]);
    expect(await check()).toEqual({ faults: [], accounts: 1, movements: 122 });
    expect(await daysThatDiffer()).toEqual([]);
    list.refuseFrom(begins + 40 * day);
    expect(await reread(40, 41)).toMatchObject({ listed: 0, unread: ['acct_compared'] });
    list.refuseFrom(Number.POSITIVE_INFINITY);
  });

  it('keeps what the first look found where the processor refuses the second one, asks it once, and names the account [D14.157]', async () => {
    const ofBothMonths = `${row.slice(0, -'id ='.length)} id in ('txn_0_39', 'txn_40_60')`;
    const addFee = (cents: number) =>
      test.admin(
        `update refunds.processor_transactions set fee_cents = fee_cents + $1, net_cents = net_cents - $1 where ${ofBothMonths}`,
        [cents],
      );
    await addFee(1);
    let pages = 0;
    const { faults } = await lookTwice(
      async (findings) => void (await lookAtProcessor(database, processors, findings, { from: firstDay })),
      async () => {
        list.refuseFrom(begins);
        pages = list.pages();
      },
    );
    expect(faults.map(({ fault, state, id }) => [fault, state, id])).toEqual([
      ['movement_stored_differently', 'wrong', 'txn_0_39'],
      ['movement_stored_differently', 'wrong', 'txn_40_60'],
      ['processor_not_compared', 'not_compared', 'acct_compared'],
    ]);
    expect(faults.at(-1)?.detail).toBe(`from ${firstDay} on: the processor answers account_invalid`);
    expect(list.pages() - pages).toBe(1);
    list.refuseFrom(Number.POSITIVE_INFINITY);
    await addFee(-1);
    expect(await check(firstDay)).toMatchObject({ faults: [] });
  });

  it('says that there is more where a month has more than 1,000 differences, and reads all of its days again [D14.157]', async () => {
    // 400 on each of four days.
    await test.admin(
      `insert into refunds.processor_transactions select (jsonb_populate_record(m, jsonb_build_object('id', 'txn_alone_' || n,
           'created_at', to_timestamp($1::bigint) + (n % 4) * interval '1 day'))).*
         from refunds.processor_transactions m, generate_series(1, 1600) n where m.id = 'txn_0_1'`,
      [begins + 10 * day],
    );
    const findings = new Findings();
    await lookAtProcessor(database, processors, findings, { from: firstDay });
    expect(findings.faults).toHaveLength(1_000);
    expect(findings.areMore).toBe(true);
    const differing = await test.admin<{ day: string }>(
      'select day::text from refunds.checked_days where differs and day >= $1 order by day',
      [atOf(10)],
    );
    expect(differing.map(({ day }) => day)).toEqual([atOf(10), atOf(11), atOf(12), atOf(13)]);
    await test.admin(`delete from refunds.processor_transactions where id like 'txn_alone_%'`);
    expect(await check()).toMatchObject({ faults: [] });
    expect(await daysThatDiffer()).toEqual([]);
  });

  it('keeps a balance that differs where the sandbox refuses the second look, and names the account [D14.157]', async () => {
    const sandbox = await startMovementList([]);
    const atSandbox = openProcessors({ ELIGO_SANDBOX_URL: sandbox.url, ELIGO_SANDBOX_KEY: 'sk_test_compared' });
    for (const table of ['checked_days', 'ledger_feeds']) await test.admin(`delete from refunds.${table}`);
    await test.admin(
      `insert into refunds.ledger_feeds (account_id, test_mode, processor, processor_account, begins_at, read_from, next_read_at)
       values ($1, true, 'sandbox', 'acct_sandbox', now() - interval '1 hour', now(), now())`,
      [account],
    );
    await test.admin(
      `insert into refunds.ledger_totals (account_id, test_mode, grain, begins_on, processor, processor_account, ledger_account, amount_cents)
       values ($1, true, 'month', '2026-11-01', 'sandbox', 'acct_sandbox', 'processor_balance', 1)`,
      [account],
    );
    try {
      const { faults } = await lookTwice(
        async (findings) => void (await lookAtProcessor(database, atSandbox, findings)),
        async () => sandbox.refuseFrom(0),
      );
      expect(faults.map(({ fault, state, id }) => [fault, state, id])).toEqual([
        ['processor_balance_differs', 'wrong', 'acct_sandbox'],
        ['processor_not_compared', 'not_compared', 'acct_sandbox'],
      ]);
    } finally {
      atSandbox.close();
      await sandbox.close();
    }
  });
});
