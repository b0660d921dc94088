import { type Database, type MigrationSource, readMigrations, unscoped } from '@eligo/postgres';

const appliedMigrations = unscoped<{ id: string }>('service_applied_migrations', 'select id from migrations');

/**
 * Makes the check that every migration of this release is applied. Newer ones do no harm: a service at its previous release works beside
 * them. Once it held it is not asked again, since migrations are not taken back.
 */
export function migrationsCurrent(database: Database, sources: readonly MigrationSource[]): () => Promise<void> {
  let current = false;
  return async () => {
    if (current) return;
    const applied = new Set((await database.rows(appliedMigrations, null)).map(({ id }) => id));
    const missing = (await readMigrations(sources)).filter(({ id }) => !applied.has(id));
    if (missing.length > 0) throw new Error(`${missing.length} migrations have not been applied`);
    current = true;
  };
}
