import { type Database, unscoped } from '@eligo/postgres';
import type { TestDatabase } from './test-database.ts';

/** A test's database, and what its connections planned. */
export interface WatchedPlans {
  /** The same database. Its pools tell what they planned before they close. */
  readonly test: TestDatabase;
  /** The prepared statements that a connection planned for the values of one run, by their names. */
  plannedAnew(): Promise<string[]>;
}

/** Has the pools that are opened from now on tell which statements they planned for their values, rather than once for all values (ADR 3). */
export function watchPlans(test: TestDatabase): WatchedPlans {
  const names = new Set<string>();
  const open = new Set<Database>();
  const note = async (database: Database) => {
    open.delete(database);
    for (const name of await plannedOn(database)) names.add(name);
  };
  return {
    test: {
      ...test,
      open(schema, options) {
        const database = test.open(schema, options);
        open.add(database);
        database.doBeforeClose(() => note(database));
        return database;
      },
    },
    async plannedAnew() {
      for (const database of open) await note(database);
      return [...names].sort();
    },
  };
}

const select = unscoped<{ name: string }>(
  'test.planned_anew',
  "select split_part(name, ':', 1) as name from pg_prepared_statements where custom_plans > 0",
);

// Asked so often at once that each connection of the pool is asked: prepared statements belong to one.
async function plannedOn(database: Database): Promise<string[]> {
  const all = Array.from({ length: database.stats().total }, () => database.rows(select, null));
  return (await Promise.all(all)).flat().map(({ name }) => name);
}
