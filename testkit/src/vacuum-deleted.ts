import type { TestDatabase } from './test-database.ts';
import { waitUntil } from './wait-until.ts';

/**
 * Vacuums tables, of which a test has deleted rows, until no deleted row is left. A snapshot in the same database, such as that of an analysis of the
 * catalog which begins by itself, keeps them, and what reads the table's indexes then looks at each of them once more.
 */
export async function vacuumDeleted(test: Pick<TestDatabase, 'admin'>, tables: readonly string[]): Promise<void> {
  await waitUntil(
    async () => {
      await test.admin(`vacuum (analyze, index_cleanup on) ${tables.join(', ')}`);
      const [left] = await test.admin<{ rows: string }>(
        'select coalesce(sum(n_dead_tup), 0) as rows from pg_stat_user_tables where relid = any($1::regclass[])',
        [tables],
      );
      return Number(left?.rows) === 0;
    },
    { what: `the deleted rows of ${tables.join(', ')} to be vacuumed` },
  );
}
