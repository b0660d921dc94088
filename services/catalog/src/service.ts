import { eventsMigrations } from '@eligo/events';
import { migrationSource } from '@eligo/postgres';
import { operatorMigrations, type ServiceComposition } from '@eligo/service';
import { openContext } from './context.ts';
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
  build(parts) {
    const context = openContext(parts);
    return { handlers: catalogHandlers(context), jobs: [removeAbandonedInline(context)] };
  },
};
