import { eventsMigrations } from '@eligo/events';
import { openMailer } from '@eligo/mail';
import { migrationSource } from '@eligo/postgres';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import { declareFailpoints, type ServiceComposition } from '@eligo/service';
import { createArrivals } from './arrivals.ts';
import { type BillingSettings, readBillingSettings } from './config.ts';
import { issueReceipts } from './consumers/issue-receipts.ts';
import { subscriptionStartConsumer } from './consumers/subscription-start.ts';
import type { Context } from './context.ts';
import { cancelDue } from './jobs/cancel-due.ts';
import { finishClocks } from './jobs/finish-clocks.ts';
import { mailReceipts } from './jobs/mail-receipts.ts';
import { billingHandlers } from './rpc/handlers.ts';

declareFailpoints(['clock.advancing', 'receipt.mailed']);

/** Billing: subscriptions, their invoices, and the clocks of test customers. */
export const billingService: ServiceComposition<BillingSettings> = {
  name: 'billing',
  migrations: [eventsMigrations, migrationSource('billing', new URL('../migrations', import.meta.url))],
  settings: readBillingSettings,
  build(context) {
    const mailer = openMailer(context.settings.mail);
    const work: Context = {
      database: context.database,
      clock: context.clock,
      logger: context.logger,
      mailer,
      checkout: context.client(CheckoutService),
      callerFor: context.callerFor,
      arrivals: createArrivals(),
      failpoint: context.failpoint,
    };
    return {
      handlers: billingHandlers(work),
      consumers: [subscriptionStartConsumer(work.arrivals), issueReceipts],
      jobs: [
        cancelDue(work),
        mailReceipts(work),
        // Only what a crash or an aborted call has left.
        { name: 'finish-clocks', everyMs: 15_000, run: (signal) => finishClocks(work, signal) },
      ],
      async stop() {
        mailer.close();
      },
    };
  },
};
