import { takeQuietStatistics } from './quiet-statistics.ts';
import type { Readings } from './statement-growth.ts';
import { readStatements } from './statement-readings.ts';
import { type Schema, type TestDatabase, testDatabase } from './test-database.ts';

/** How a service's statements are run on accounts of two sizes. */
export interface Exercise {
  readonly service: Schema;
  /** Fills every table with so many records of the seeded account, and some of others. */
  seed(test: TestDatabase, each: number): Promise<void>;
  /** Runs every statement of the service, in the seeded account and over all accounts. */
  run(test: TestDatabase): Promise<void>;
}

/**
 * Records of each kind in the two accounts: 1,000 and 20,000, or 100,000 in the long run. Filling takes nearly all of the time, and what reads the
 * whole of an account reads twenty times as much in the smaller one, too.
 */
export const accountSizes = { small: 1_000, large: process.env.ELIGO_TEST_LONG === 'on' ? 100_000 : 20_000 };

/**
 * What the statements of a service read in a small account and in a large one (`accountSizes`), each in a database of its own. In the small one
 * an index is used even where it is not worth it, so that what is read there is what an index leads to, and not all of a table of a few pages. The large
 * one has the statistics of a time when nothing waited.
 */
export async function readInSmallAndLarge(exercise: Exercise): Promise<{ small: Readings; large: Readings }> {
  return { small: await readWith(exercise, accountSizes.small), large: await readWith(exercise, accountSizes.large) };
}

async function readWith({ service, seed, run }: Exercise, each: number): Promise<Readings> {
  const test = await testDatabase(service);
  try {
    await seed(test, each);
    if (each > accountSizes.small) await takeQuietStatistics(test, service.name);
    const readings = await readStatements(test, { sequentialScans: each > accountSizes.small });
    await run(test);
    return readings;
  } finally {
    await test.drop();
  }
}
