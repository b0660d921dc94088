import { eventsMigrations } from '@eligo/events';
import { migrationSource } from '@eligo/postgres';
import { operatorMigrations, type ServiceComposition } from '@eligo/service';
import { removeAbandonedInline } from './jobs/remove-abandoned-inline.ts';
import { catalogHandlers } from './rpc/handlers.ts';

/** The catalog: what can be sold, and what decides its eligibility. */
export const catalogService: ServiceComposition = {
  name: 'catalog',
  migrations: [
    eventsMigrations,
    operatorMigrations,
    migrationSource('catalog', new URL('../migrations', import.meta.url)),
  ],
  build: ({ database, clock }) => ({
    handlers: catalogHandlers({ database, clock }),
    jobs: [removeAbandonedInline({ database, clock })],
  }),
};
