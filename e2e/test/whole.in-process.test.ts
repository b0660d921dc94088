import { type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, beforeAll, describe } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { isLongRun } from '../src/crashes/plan.ts';
import { describeClear } from './clear.ts';
import { describeClockJumps } from './clock-jumps.ts';
import { describeConfirmTable } from './confirm-table.ts';
import { describeMainPath } from './main-path.ts';
import { describeProbes } from './probes.ts';
import { describeRenewedFood } from './renewed-food.ts';
import { describeStorefrontPlugin } from './storefront-plugin.ts';

describe('all of Eligo in one process', () => {
  let eligo: Constellation;
  beforeAll(async () => {
    const environment = { ELIGO_RATE_LIMIT_FAILED_AUTH: '100000' };
    eligo = await startConstellation({ topology: 'in-process', environment });
  }, 120_000);
  afterAll(() => stopWithBooks(eligo), 60_000);

  describeMainPath(() => eligo);
  describeConfirmTable(() => eligo);
  describeStorefrontPlugin(() => eligo);
  describeClear(() => eligo);
  describeRenewedFood(() => eligo);
  describeClockJumps(() => eligo);
  // The gateway's own tests send it all of them.
  describeProbes(() => eligo, isLongRun ? 1 : 10);
});
