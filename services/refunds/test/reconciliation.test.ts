import type { Scope } from '@eligo/postgres';
import type { ReconciliationItem } from '@eligo/proto/refunds/v1/refunds';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture, someScope } from './fixture.ts';
import { atProcessor, journalOf, keepBooks, movementArrives, tell } from './ledger-fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

interface Day {
  readonly date: string;
  readonly opening: number;
  readonly closing: number;
  readonly accounts: Record<string, readonly [opening: number, change: number, closing: number]>;
  readonly movements: Record<string, readonly [count: number, gross: number, fee: number, net: number]>;
  readonly entries: Record<string, number>;
  readonly payouts: readonly (readonly [status: string | undefined, net: number])[];
  readonly suspense: readonly (readonly [type: string, net: number, inSuspense: number])[];
}

/** The report of an account, day by day. */
async function report(scope: Scope, from: string, to = from): Promise<Day[]> {
  const days: ReconciliationItem['item'][][] = [];
  for await (const { item } of on.refunds.reportReconciliation({ from, to }, on.as(scope))) {
    if (item.case === 'day') days.push([]);
    days.at(-1)?.push(item);
  }
  return days.map(dayOf);
}

function dayOf(items: readonly ReconciliationItem['item'][]): Day {
  const [day] = items;
  if (day?.case !== 'day') throw new Error('A day begins with its balances');
  const { date, openingCents, closingCents } = day.value;
  const activity = items.flatMap((item) => (item.case === 'activity' ? item.value : []));
  return {
    ...{ date, opening: Number(openingCents), closing: Number(closingCents) },
    accounts: Object.fromEntries(
      items.flatMap((item) => {
        if (item.case !== 'account') return [];
        const { ledgerAccount, openingCents, changeCents, closingCents } = item.value;
        return [[ledgerAccount, [Number(openingCents), Number(changeCents), Number(closingCents)] as const] as const];
      }),
    ),
    movements: Object.fromEntries(
      activity
        .filter(({ cause }) => cause === 'balance')
        .map(({ type, reportingCategory, transactions, amountCents, feeCents, netCents }) => [
          `${type}/${reportingCategory}`,
          [Number(transactions), Number(amountCents), Number(feeCents), Number(netCents)] as const,
        ]),
    ),
    entries: Object.fromEntries(
      activity.filter(({ cause }) => cause === 'journal').map((one) => [one.type, Number(one.amountCents)]),
    ),
    payouts: items.flatMap((item) =>
      item.case === 'payout' ? [[item.value.payoutStatus, Number(item.value.netCents)] as const] : [],
    ),
    suspense: items.flatMap((item) =>
      item.case === 'suspense'
        ? [[item.value.type, Number(item.value.netCents), Number(item.value.suspenseCents)] as const]
        : [],
    ),
  };
}

function tiesOut(days: readonly Day[]): void {
  for (const [index, day] of days.entries()) {
    const moved = Object.values(day.movements).reduce((sum, [, , , net]) => sum + net, 0);
    expect(day.opening + moved, day.date).toBe(day.closing);
    if (index > 0) expect(day.opening, day.date).toBe(days[index - 1]?.closing);
    for (const [opening, change, closing] of Object.values(day.accounts)) expect(opening + change).toBe(closing);
    expect(
      Object.values(day.accounts).reduce((sum, [, , closing]) => sum + closing, 0),
      day.date,
    ).toBe(0);
    for (const [, gross, fee, net] of Object.values(day.movements)) expect(gross - fee).toBe(net);
  }
}

/** Movements that the processor made at these times, posted. */
async function moved(scope: Scope, movements: readonly (readonly [at: string, type: string, amountCents: number])[]) {
  for (const [at, type, amountCents] of movements) {
    const id = await movementArrives(on, scope, { type, category: type, amountCents, sourceId: `po_${at}` });
    await on.admin(`update refunds.processor_transactions set created_at = $2 where id = $1`, [id, at]);
  }
  await keepBooks(on);
}

const today = () => new Date().toISOString().slice(0, 10);

describe('the reconciliation report', () => {
  it('ties the balance at the processor out by type, with what was captured, a payout, and suspense [D14.163]', async () => {
    const scope = someScope();
    await tell(scope, on, journalOf(scope, on, await on.paid(scope, { hsa: 4_000, credit: 1_000 })));
    const begin = today();
    await keepBooks(on);
    await moved(scope, [[new Date().toISOString(), 'stripe_fee', -25]]);
    await on.refunds.createTestPayout({}, on.as(scope));
    await keepBooks(on);
    const atTheProcessor = await atProcessor(on, scope);
    const days = await report(scope, begin, today());
    tiesOut(days);
    expect(days[0]?.opening).toBe(0);
    // The invented fee is not on the sandbox's own balance.
    expect(days.at(-1)?.closing).toBe(atTheProcessor.net - 25);
    const whole = days.find(({ movements }) => movements['charge/charge'] !== undefined);
    expect(whole?.movements).toMatchObject({ 'charge/charge': [2, 5_000, 205, 4_795] });
    expect(whole?.entries).toEqual({ capture: 5_000 });
    expect(days.flatMap(({ payouts }) => payouts)).toEqual([['in_transit', -4_795]]);
    expect(days.flatMap(({ suspense }) => suspense)).toEqual([['stripe_fee', -25, -25]]);
    expect(days.at(-1)?.accounts.receivable?.[2]).toBe(0);
  });

  it('opens with the days and months before it, also in the middle of a month, and begins each day at midnight (UTC) [D14.163]', async () => {
    const scope = someScope();
    await moved(scope, [
      ['2026-01-31T23:59:59.999Z', 'stripe_fee', -1],
      ['2026-02-01T00:00:00.000Z', 'stripe_fee', -20],
      ['2026-02-27T12:00:00.000Z', 'stripe_fee', -300],
      ['2026-02-28T23:59:59.999Z', 'payout', -4_000],
      ['2026-03-01T00:00:00.000Z', 'stripe_fee', -50_000],
    ]);
    const days = await report(scope, '2026-01-31', '2026-03-02');
    expect(days).toHaveLength(31);
    tiesOut(days);
    expect(days[0]).toMatchObject({ opening: 0, closing: -1 });
    expect(days.at(-1)).toMatchObject({ opening: -54_321, closing: -54_321, movements: {} });
    for (const whole of days) expect(await report(scope, whole.date)).toEqual([whole]);
    expect(days.filter(({ payouts }) => payouts.length > 0).map(({ date }) => date)).toEqual(['2026-02-28']);
    // One that comes late is in the report of its day.
    await moved(scope, [['2026-02-01T08:00:00.000Z', 'stripe_fee', -7]]);
    const again = await report(scope, '2026-02-01', '2026-02-01');
    expect(again).toMatchObject([{ opening: -1, closing: -28, suspense: [{ length: 3 }, { length: 3 }] }]);
    expect((await report(scope, '2027-01-01'))[0]).toMatchObject({ opening: -54_328, closing: -54_328 });
    expect(await report(someScope(), '2026-02-01')).toMatchObject([{ opening: 0, closing: 0, accounts: {} }]);
  });

  it('names each movement in suspense of a day with more than a page of them, once [D14.163]', async () => {
    const scope = someScope();
    const { account } = on.port(scope).account;
    await on.admin(
      `insert into refunds.processor_transactions (account_id, test_mode, processor, processor_account, id, type, reporting_category, amount_cents,
         fee_cents, application_fee_cents, net_cents, available_on, created_at)
       select $1, true, 'sandbox', $2, 'txn_' || $1 || n, 'stripe_fee', 'fee', -n, 0, 0, -n, now(), '2026-05-05T10:00:00Z' from generate_series(1, 450) n`,
      [scope.accountId, account],
    );
    await keepBooks(on);
    const [day, ...rest] = await report(scope, '2026-05-05');
    expect(rest).toEqual([]);
    expect(day?.suspense.map(([, net]) => -net).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 450 }, (_, index) => index + 1),
    );
    tiesOut(day === undefined ? [] : [day]);
  });

  it('keeps its sums in the transaction that posts, also in two at once, and the service cannot delete them [D14.163]', async () => {
    const scope = someScope();
    const sessions = await Promise.all([100, 200, 300, 400].map((hsa) => on.paid(scope, { hsa })));
    await Promise.all(sessions.map((session) => tell(scope, on, journalOf(scope, on, session))));
    await Promise.all([keepBooks(on), keepBooks(on)]);
    const differs = await on.admin(
      `select 1 from (select grain, begins_on, ledger_account, sum(amount_cents) as cents from refunds.ledger_totals where account_id = $1
           group by 1, 2, 3) k
         full join (select g.grain, date_trunc(g.grain, t.occurred_at at time zone 'UTC')::date as begins_on, p.ledger_account, sum(p.amount_cents) as cents
           from refunds.ledger_postings p join refunds.ledger_transactions t on (t.account_id, t.id) = (p.account_id, p.transaction_id)
           cross join (values ('day'), ('month')) g (grain) where p.account_id = $1 group by 1, 2, 3) s using (grain, begins_on, ledger_account)
        where k.cents is distinct from s.cents`,
      [scope.accountId],
    );
    expect(differs).toEqual([]);
    expect(Object.keys((await report(scope, today()))[0]?.accounts ?? {})).toContain('charges');
    for (const table of ['ledger_totals', 'ledger_activity']) {
      for (const text of [`delete from refunds.${table}`, `update refunds.${table} set account_id = 'x'`]) {
        await expect(on.admin(`set local role eligo_refunds; ${text}`)).rejects.toMatchObject({ code: '42501' });
      }
    }
  });
});
