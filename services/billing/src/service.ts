import { eventsMigrations } from '@eligo/events';
import { openMailer } from '@eligo/mail';
import { migrationSource } from '@eligo/postgres';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import { declareFailpoints, type ServiceComposition } from '@eligo/service';
import { createArrivals } from './arrivals.ts';
import { type BillingSettings, readBillingSettings } from './config.ts';
import { issueReceipts } from './consumers/issue-receipts.ts';
import { subscriptionStartConsumer } from './consumers/subscription-start.ts';
import type { Context } from './context.ts';
import { finishClocks } from './jobs/finish-clocks.ts';
import { mailReceipts } from './jobs/mail-receipts.ts';
import { runDue } from './jobs/run-due.ts';
import { billingHandlers } from './rpc/handlers.ts';

declareFailpoints([
  'clock.advancing',
  'receipt.mailed',
  'renewal.resolved',
  'renewal.invoiced',
  'invoice_charge.begun',
  'invoice_charge.answered',
  'invoice_charge.before_commit',
  'invoice_charge.recorded',
]);

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
      catalog: context.client(CatalogService),
      checkout: context.client(CheckoutService),
      callerFor: context.callerFor,
      arrivals: createArrivals(),
      failpoint: context.failpoint,
    };
    return {
      handlers: billingHandlers(work),
      consumers: [subscriptionStartConsumer(work.arrivals), issueReceipts],
      jobs: [
        runDue(work),
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
