import type { Page } from '@eligo/postgres';
import { idBodies } from '@eligo/values';
import { type SessionFilter, streamSessions } from '../src/store/session-list.ts';
import type { ChargingFixture } from './charging-fixture.ts';

/** An account whose sessions have ids of their times, as those that are created have: one each five minutes. */
const dated = { accountId: 'facct_dated', testMode: true };

const fiveMinutes = 300_000;
const since = Date.now() - 365 * 86_400_000;
const timeOf = (number: number) => new Date(since + number * fiveMinutes);
const idOf = (number: number) =>
  `fcs_${idBodies({ now: () => timeOf(number).getTime(), random40: () => 0 })().slice(0, 10)}${String(number).padStart(16, '0')}`;

/** Their inserts. The last ten are of customers on clocks, which say that they were made with the 900th. */
export function datedSessions(count: number): string[] {
  const clockTime = `to_timestamp(${timeOf(900).getTime()} / 1000.0)`;
  const rows = `from (select n, '${dated.accountId}' as account, to_timestamp(ms / 1000.0) as at, 'fcs_' || (
      select string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', (ms >> 5 * place & 31)::integer + 1, 1), '' order by place desc)
      from generate_series(0, 9) place) || lpad(n::text, 16, '0') as id
    from generate_series(1, ${count}) n, lateral (select ${since} + n * ${fiveMinutes}::bigint as ms) t) r`;
  return [
    `sessions (account_id, test_mode, id, status, mode, capture_method, customer_id, amount_subtotal_cents, amount_discount_cents, amount_tax_cents,
       amount_shipping_cents, amount_fee_cents, amount_total_cents, amount_eligible_cents, amount_iias_cents, amount_prescription_cents,
       amount_vision_cents, amount_service_cents, letter_required, fee_count, discount_count, expires_at, created_at)
     select account, true, id, case when n % 2 = 0 then 'complete' else 'expired' end, 'payment', 'automatic', 'fcus_dated', 1000, 0, 0, 0, 0, 1000, 0, 0, 0,
       0, 0, false, 0, 0, now() + interval '1 day', case when n > ${count - 10} then ${clockTime} else at end ${rows}`,
    `session_selling_plans (account_id, test_mode, selling_plan_id, session_id) select account, true, 'plan', id ${rows}`,
  ];
}

/** Lists of times that narrow: the newest sessions of the account are later, and most of the others earlier. */
export async function exerciseDatedLists({ database }: ChargingFixture): Promise<void> {
  const read = async (page: Page, filter: SessionFilter) => {
    for await (const one of streamSessions(database, dated, page, filter)) void one;
  };
  for (const filter of [{}, { status: 'complete' }, { customerId: 'fcus_dated' }, { sellingPlan: 'plan' }]) {
    for (const range of ranges) {
      for (const middle of [{}, { startingAfter: idOf(800) }, { endingBefore: idOf(650) }, { offset: 20 }]) {
        await read({ limit: 10, ...middle }, { ...filter, ...range });
      }
    }
    for (const range of [narrow, { ...narrow, createdBefore: timeOf(950) }]) {
      await read({ limit: 300 }, { ...filter, ...range });
    }
    // As often as a connection needs to keep its plan, for a narrow range and then for a wide one.
    for (const range of [narrow, { createdAtOrAfter: timeOf(1), createdBefore: new Date() }]) {
      for (let times = 0; times < 8; times += 1) await read({ limit: 10 }, { ...filter, ...range });
    }
  }
}

const narrow = { createdAtOrAfter: timeOf(600), createdBefore: timeOf(700) };

// Sessions of test clocks are in those that reach the 900th.
const ranges: SessionFilter[] = [
  narrow,
  { createdBefore: timeOf(700) },
  { createdAtOrBefore: timeOf(950) },
  { createdAfter: timeOf(850), createdAtOrBefore: timeOf(950) },
  { createdAtOrAfter: timeOf(950), createdBefore: timeOf(960) },
];
