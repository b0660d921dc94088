import { scoped, withTx } from '@eligo/postgres';
import {
  growths,
  type Readings,
  readInSmallAndLarge,
  seededAccount,
  seededId,
  statementsNotRun,
  type TestDatabase,
} from '@eligo/testkit';
import { beforeAll, expect, test } from 'vitest';
import { checkoutService } from '../src/service.ts';
import { openChargingFixture } from './charging-fixture.ts';
import { exerciseErasures } from './growth-erasures.ts';
import { exerciseCheckout } from './growth-exercise.ts';
import { exerciseHolds } from './growth-holds.ts';
import { exerciseJournal } from './growth-journal.ts';
import { exerciseLetters } from './growth-letters.ts';
import { exerciseRareValues } from './growth-lists.ts';
import { seedCheckout } from './growth-seed.ts';
import { exercisePagePayments, exerciseSetUps, exerciseSubscriptionSetUps } from './growth-set-ups.ts';

let read: { small: Readings; large: Readings };
beforeAll(async () => {
  read = await readInSmallAndLarge({ service: checkoutService, seed: seedCheckout, run });
}, 600_000);

test('every statement of the store is run on the large account [D14.396]', () => {
  expect(statementsNotRun(read.large)).toEqual([]);
});

test('no statement reads more in a large account than in a small one, but one that is written to', () => {
  const growing = growths(read.small, read.large, longPages);
  const isMadeToGrow = (one: string) => one.startsWith('test.facts_by_coalesce: ');
  expect(growing.filter((one) => !isMadeToGrow(one))).toEqual([]);
  const [made = ''] = growing.filter(isMadeToGrow);
  // A scan of each table returned or dropped rows by the ten thousand.
  for (const table of ['payment_methods', 'customers'])
    expect(made).toMatch(new RegExp(`Scan \\| ${table}\\S* \\|.* \\| (?:dropped )?\\d{5}`));
});

// What a confirm once read of a session. Under row-level security `coalesce` is compared with one card after the other, and then with one customer after the other, of the
// whole account, and the plan names an index all the while (ADR 3).
const factsByCoalesce = scoped<{ record_id: string | null }>(
  'test.facts_by_coalesce',
  `select r.id as record_id, r.food_policy, m.id as payment_method_id, m.customer_id as payment_method_customer_id,
     m.processor_payment_method_id, m.processor_customer_id, m.off_session, m.hsa_fsa,
     c.id as customer_id, c.deleted_at is not null as customer_deleted
   from (select 1) one
   left join checkout.sessions s on s.account_id = $1 and s.test_mode = $2 and s.id = $3
   left join checkout.eligibility_records r on r.account_id = $1 and r.test_mode = $2 and r.session_id = $3
   left join checkout.payment_methods m on m.account_id = $1 and m.test_mode = $2
     and m.id = coalesce($4, s.payment_method_id) and m.detached_at is null
   left join checkout.customers c on c.account_id = $1 and c.test_mode = $2 and c.id = coalesce(s.customer_id, m.customer_id)`,
);

const longPages = [
  // Four counts that stop at a thousand, and what they pass over.
  { statement: /limit 1000\) counted|charge_work_waiting/, rows: 4_100 },
  // Up to two hundred due holds or set-ups, whose accounts are known then.
  { statement: /limit few|hold_turns|set_up_turns/, rows: 450 },
];

async function run(test: TestDatabase): Promise<void> {
  // Beside other tests, a statement that says how it ran takes longer than the service's own bound expects.
  const pool = { statementTimeoutMs: 30_000 };
  const fixture = await openChargingFixture({}, { test, pool, accountId: seededAccount });
  try {
    await exerciseCheckout(fixture);
    await exerciseLetters(fixture);
    await exerciseHolds(fixture);
    await exerciseJournal(fixture);
    await exerciseSetUps(fixture);
    await exerciseSubscriptionSetUps(fixture);
    await exercisePagePayments(fixture);
    await exerciseRareValues(fixture);
    await exerciseErasures(fixture);
    const { database, scope } = fixture;
    await withTx(database, scope, (tx) => tx.rows(factsByCoalesce, scope, [seededId('fcs', 501), null]));
  } finally {
    await fixture.close();
  }
}
