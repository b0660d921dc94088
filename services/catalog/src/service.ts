import { eventsMigrations } from '@eligo/events';
import { migrationSource } from '@eligo/postgres';
import { operatorMigrations, type ServiceComposition } from '@eligo/service';
import { openContext } from './context.ts';
import { propagateProductStates } from './jobs/propagate-products.ts';
import { removeAbandonedInline } from './jobs/remove-abandoned-inline.ts';
import { catalogHandlers } from './rpc/handlers.ts';
import { propagationLagSeconds } from './store/propagating-products.ts';

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
    parts.metrics.gauge(
      'product_propagation_lag_seconds',
      'Age of the oldest change of a product whose prices do not all have it yet',
      () => propagationLagSeconds(parts.database),
    );
    const propagation = propagateProductStates(context, (err) =>
      parts.logger.error({ err }, 'Failed to propagate the state of a product to its prices; will retry'),
    );
    return { handlers: catalogHandlers(context), jobs: [propagation, removeAbandonedInline(context)] };
  },
};
