import { checkoutService } from '@eligo/checkout';
import { type Database, openDatabase, unscoped } from '@eligo/postgres';
import { refundsService } from '@eligo/refunds';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { lookAtLedger, whetherTold } from '../src/ledger/check-ledger.ts';
import { Findings, lookTwice } from '../src/ledger/findings.ts';
import type { FoundFault, Rows } from '../src/ledger/ranges.ts';

let test: TestDatabase;
let database: Database;
beforeAll(async () => {
  test = await testDatabase(checkoutService, refundsService);
  database = openDatabase({ url: test.adminUrl, applicationName: 'ledger check', max: 1 });
}, 60_000);
afterAll(async () => {
  await database?.close();
  await test?.drop();
});
afterEach(() => void vi.restoreAllMocks());

async function unguarded(statement: string, values: unknown[] = []): Promise<void> {
  await test.admin('set session_replication_role = replica');
  await test.admin(statement, values);
}

beforeEach(async () => {
  for (const table of ['checkout.ledger_entries', 'checkout.outbox', 'refunds.inbox'])
    await unguarded(`delete from ${table}`);
});

/** Captures that were told and are not posted, or that wait to be told. */
const journal = (first: number, last: number, tellAt: 'null' | 'now()') =>
  unguarded(
    `insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind, payment_intent_id, source_id, created_at, tell_at)
     select 'facct_busy', false, 'fltx_' || lpad(n::text, 5, '0'), 'processor_balance', 'charges', 100, 'capture', 'fpi_' || n, 'fch_' || n, now(), ${tellAt}
       from generate_series($1::int, $2::int) n`,
    [first, last],
  );
const send = (event: string) =>
  unguarded(
    `insert into checkout.outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode)
     values ($1, $1, 1, 'command.journal', 'facct_busy', false)`,
    [event],
  );
const handle = (event: string) =>
  unguarded(`insert into refunds.inbox (consumer, event_id) values ('ledger', $1)`, [event]);

const look = (findings: Findings) => lookAtLedger(database, findings);
const entries = ({ faults }: Findings) => faults.map(({ fault, state, id }) => [fault, state, id]);

describe('a capture that was told and never posted', () => {
  it('is reported while an event of its account is on its way, and as wrong once that is handled [D14.155]', async () => {
    await journal(1, 1, 'null');
    await send('fevt_1');
    const found = await lookTwice(look, () => handle('fevt_1'));
    expect(entries(found)).toEqual([['entry_not_posted', 'unsettled', 'fltx_00001']]);
    const later = await lookTwice(look, async () => undefined);
    expect(entries(later)).toEqual([['entry_not_posted', 'wrong', 'fltx_00001']]);
    // An event that is on its way at the second look only is of the first look no more.
    const busy = await lookTwice(look, () => send('fevt_2'));
    expect(entries(busy)).toEqual([['entry_not_posted', 'unsettled', 'fltx_00001']]);
  });

  it('is wrong some seconds after the last event of its account is handled, in the same run, too [D14.155]', async () => {
    const started = performance.now();
    let aheadMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => started + aheadMs);
    const rows: Rows = (name, text, values) => database.rows(unscoped<never>(name, text), null, values);
    const { decide } = whetherTold(rows);
    const told: FoundFault = {
      ...{ state: 'told', fault: 'entry_not_posted', account_id: 'facct_busy', test_mode: false, id: 'fltx_1' },
      detail: '',
    };
    const states = async () => (await decide([told])).map(({ state }) => state);
    await send('fevt_1');
    expect(await states()).toEqual(['unsettled']);
    await handle('fevt_1');
    expect(await states()).toEqual(['unsettled']);
    aheadMs = 5_000;
    expect(await states()).toEqual(['wrong']);
  });

  it('is found among more than 1,000 that wait to be told, and the check says that there are more [D14.155]', async () => {
    await journal(1, 1_200, 'now()');
    await journal(9_999, 9_999, 'null');
    const findings = new Findings();
    await look(findings);
    expect(entries(findings)[0]).toEqual(['entry_not_posted', 'wrong', 'fltx_09999']);
    expect([findings.faults.length, findings.areMore, findings.areMoreWrong]).toEqual([1_000, true, false]);
  });

  it('is one of more than 1,000 in one range, of which the check says that there are more [D14.155]', async () => {
    await journal(1, 1_000, 'null');
    const whole = new Findings();
    await look(whole);
    expect([whole.faults.length, whole.areMore]).toEqual([1_000, false]);
    await journal(1_001, 1_001, 'null');
    const cut = new Findings();
    await look(cut);
    expect([cut.faults.length, cut.areMore, cut.areMoreWrong]).toEqual([1_000, true, true]);
  });
});
