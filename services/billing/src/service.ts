import { eventsMigrations } from '@eligo/events';
import { migrationSource } from '@eligo/postgres';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import { declareFailpoints, type ServiceComposition } from '@eligo/service';
import { createArrivals } from './arrivals.ts';
import { subscriptionStartConsumer } from './consumers/subscription-start.ts';
import type { Context } from './context.ts';
import { cancelDue } from './jobs/cancel-due.ts';
import { finishClocks } from './jobs/finish-clocks.ts';
import { billingHandlers } from './rpc/handlers.ts';

declareFailpoints(['clock.advancing']);

/** Billing: subscriptions, their invoices, and the clocks of test customers. */
export const billingService: ServiceComposition = {
  name: 'billing',
  migrations: [eventsMigrations, migrationSource('billing', new URL('../migrations', import.meta.url))],
  build(context) {
    const work: Context = {
      database: context.database,
      clock: context.clock,
      logger: context.logger,
      checkout: context.client(CheckoutService),
      callerFor: context.callerFor,
      arrivals: createArrivals(),
      failpoint: context.failpoint,
    };
    return {
      handlers: billingHandlers(work),
      consumers: [subscriptionStartConsumer(work.arrivals)],
      jobs: [
        cancelDue(work),
        // Only what a crash or an aborted call has left.
        { name: 'finish-clocks', everyMs: 15_000, run: (signal) => finishClocks(work, signal) },
      ],
    };
  },
};
