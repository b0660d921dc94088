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
import { openChargingWorld } from './charging-world.ts';
import { exerciseCheckout } from './growth-exercise.ts';
import { exerciseLetters } from './growth-letters.ts';
import { seedCheckout } from './growth-seed.ts';

let read: { small: Readings; large: Readings };
beforeAll(async () => {
  read = await readInSmallAndLarge({ service: checkoutService, seed: seedCheckout, run });
}, 240_000);

test('every statement of the store is run on the large account', () => {
  expect(statementsNotRun(read.large)).toEqual([]);
});

test('no statement reads more in an account of 100,000 of each record than in one of 1,000', () => {
  expect(growths(read.small, read.large, longPages)).toEqual([]);
});

const longPages = [
  // Four counts that stop at a thousand, and what they pass over.
  { statement: /limit 1000\) counted|charge_work_waiting/, rows: 4_100 },
];

async function run(test: TestDatabase): Promise<void> {
  // Beside other tests, a statement that says how it ran takes longer than the service's own bound expects.
  const pool = { statementTimeoutMs: 30_000 };
  const world = await openChargingWorld({}, { test, pool, accountId: seededAccount });
  try {
    await exerciseCheckout(world);
    await exerciseLetters(world);
  } finally {
    await world.close();
  }
}
