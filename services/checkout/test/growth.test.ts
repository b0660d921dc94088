import { scoped, withTx } from '@eligo/postgres';
import {
  growths,
  type Readings,
  readInSmallAndLarge,
  seededAccount,
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

test('every statement of the store is run on the large account', () => {
  expect(statementsNotRun(read.large)).toEqual([]);
});

test('no statement reads more in a large account than in a small one, but one that is written to', () => {
  const growing = growths(read.small, read.large, longPages);
  const isMadeToGrow = (one: string) => one.startsWith('test.card_by_coalesce: ');
  expect(growing.filter((one) => !isMadeToGrow(one))).toEqual([]);
  expect(growing.filter(isMadeToGrow)).toEqual([expect.stringMatching(/Scan \| payment_methods/)]);
});

// How a confirm once found its card: under row-level security `coalesce` is compared with one card of the account after the other, and the plan names an index all the while.
// Here none is found.
const cardByCoalesce = scoped<{ id: string | null }>(
  'test.card_by_coalesce',
  `select m.id from (select 1) one
   left join checkout.sessions s on s.account_id = $1 and s.test_mode = $2 and s.id = $3
   left join checkout.payment_methods m on m.account_id = $1 and m.test_mode = $2 and m.id = coalesce($4, s.payment_method_id)`,
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
    await withTx(database, scope, (tx) => tx.rows(cardByCoalesce, scope, ['fcs_none', null]));
  } finally {
    await fixture.close();
  }
}
