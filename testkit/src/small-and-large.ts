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
 * What the statements of a service read in an account of 1,000 of each record and in one of 100,000, each in a database of its own. In the small one
 * an index is used even where it is not worth it, so that what is read there is what an index leads to, and not all of a table of a few pages.
 */
export async function readInSmallAndLarge(exercise: Exercise): Promise<{ small: Readings; large: Readings }> {
  return { small: await readWith(exercise, 1_000), large: await readWith(exercise, 100_000) };
}

async function readWith({ service, seed, run }: Exercise, each: number): Promise<Readings> {
  const test = await testDatabase(service);
  try {
    await seed(test, each);
    const readings = await readStatements(test, { sequentialScans: each > 1_000 });
    await run(test);
    return readings;
  } finally {
    await test.drop();
  }
}
