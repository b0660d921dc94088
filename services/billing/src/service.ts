import { eventsMigrations } from '@eligo/events';
import { openMailer } from '@eligo/mail';
import { idempotencyMigrations, migrationSource } from '@eligo/postgres';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import { declareFailpoints, operatorMigrations, processTurns, type ServiceComposition } from '@eligo/service';
import { createArrivals } from './arrivals.ts';
import { createChargePace, type PaceLimits } from './charge-pace.ts';
import { clockShare } from './clock-share.ts';
import { type BillingSettings, readBillingSettings } from './config.ts';
import { cardSetUps } from './consumers/card-set-ups.ts';
import { cardUpdates } from './consumers/card-updates.ts';
import { chargeAuthentications } from './consumers/charge-authentications.ts';
import { issueReceipts, issueRefundReceipts } from './consumers/issue-receipts.ts';
import { subscriptionStartConsumer } from './consumers/subscription-start.ts';
import type { Context } from './context.ts';
import { finishLeftClocks } from './jobs/finish-clocks.ts';
import { pruneOldKeys } from './jobs/prune-keys.ts';
import { runDue } from './jobs/run-due.ts';
import { mailNotices, mailReceipts, mailSubscriptions } from './jobs/send-mails.ts';
import { settleCatalogTasks } from './jobs/settle-catalog-tasks.ts';
import { billingHandlers } from './rpc/handlers.ts';

declareFailpoints([
  'clock.advancing',
  'mail.sent',
  'subscription.resolved',
  'subscription.written',
  'subscription.charged',
  'subscription.items_priced',
  'subscription.changed',
  'set_up_outcome.asked',
  'set_up_outcome.answered',
  'set_up_outcome.before_record_commit',
  'set_up_outcome.recorded',
  'cancellation.before_commit',
  'cancellation.committed',
  'invoice.due',
  'renewal.resolved',
  'renewal.invoiced',
  'invoice_charge.begun',
  'invoice_charge.answered',
  'invoice_charge.before_commit',
  'invoice_charge.recorded',
]);

// Stripe takes 100 requests a second of an account in live mode, and a charge is two: this leaves a part to the account's own confirms.
const renewalPace: PaceLimits = { perSecond: 40, burst: 40 };

/** Billing: subscriptions, their invoices, and the clocks of test customers. */
export const billingService: ServiceComposition<BillingSettings> = {
  name: 'billing',
  migrations: [
    eventsMigrations,
    operatorMigrations,
    idempotencyMigrations,
    migrationSource('billing', new URL('../migrations', import.meta.url)),
  ],
  settings: readBillingSettings,
  build(service) {
    const { database, clock, logger, callerFor, failpoint } = service;
    const { pages, leaseMs } = service.settings;
    const mailer = openMailer(service.settings.mail);
    const context: Context = {
      ...{ database, clock, logger, mailer, callerFor, failpoint, pages, leaseMs },
      catalog: service.client(CatalogService),
      checkout: service.client(CheckoutService),
      arrivals: createArrivals(),
      pace: createChargePace(renewalPace),
      clockShare: clockShare(processTurns()),
    };
    return {
      handlers: billingHandlers(context),
      consumers: [
        subscriptionStartConsumer(context.arrivals),
        issueReceipts,
        issueRefundReceipts,
        cardUpdates(context),
        chargeAuthentications(context),
        cardSetUps(context),
      ],
      jobs: [
        runDue(context),
        mailReceipts(context),
        mailNotices(context),
        mailSubscriptions(context),
        settleCatalogTasks(context),
        pruneOldKeys(context),
        finishLeftClocks(context),
      ],
      async stop() {
        mailer.close();
      },
    };
  },
};
