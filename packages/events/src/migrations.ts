import { migrationSource } from '@eligo/postgres';

/** The tables outbox, inbox and dead_letters, for each service's schema. */
export const eventsMigrations = migrationSource('events', new URL('../migrations', import.meta.url));
