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

test('no statement reads more in a large account than in a small one', () => {
  expect(growths(read.small, read.large, longPages)).toEqual([]);
});

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
  } finally {
    await fixture.close();
  }
}
