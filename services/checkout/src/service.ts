import { eventsMigrations } from '@eligo/events';
import { idempotencyMigrations, migrationSource, refuseInsideTransaction } from '@eligo/postgres';
import { openServiceProcessors, Recovery } from '@eligo/processor';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import { currentRequest, implement } from '@eligo/rpc';
import {
  declareFailpoints,
  operatorMigrations,
  type ServiceComposition,
  type ServiceContext,
  startWithKeyring,
} from '@eligo/service';
import { openChargeGroups } from './actions/charge-groups.ts';
import { openCreationFacts, openNewKeyedSessions, openNewSessions } from './actions/create-session.ts';
import { openPaymentTurns } from './actions/payment-turn.ts';
import { openPlainCarts } from './actions/plain-carts.ts';
import { type CheckoutSettings, readCheckoutSettings } from './config.ts';
import { refundReceipts } from './consumers/refund-receipts.ts';
import { renewals } from './consumers/renewals.ts';
import type { Context } from './context.ts';
import { chargeFailpoints } from './failpoints.ts';
import { expireLetters } from './jobs/expire-letters.ts';
import { expireSessions } from './jobs/expire-sessions.ts';
import { fillProcessors } from './jobs/fill-processor-accounts.ts';
import { followHolds } from './jobs/follow-holds.ts';
import { followSetUps } from './jobs/follow-set-ups.ts';
import { pruneOldRows } from './jobs/prune.ts';
import { settleCatalogTasks } from './jobs/settle-catalog-tasks.ts';
import { sweepDueCharges } from './jobs/sweep-charges.ts';
import { tellJournals } from './jobs/tell-journal.ts';
import { captureHandlers } from './rpc/captures.ts';
import { chargingHandlers } from './rpc/charging.ts';
import { customerHandlers } from './rpc/customers.ts';
import { healthCardStatementHandlers } from './rpc/health-card-statements.ts';
import { intentHandlers } from './rpc/intents.ts';
import { letterHandlers } from './rpc/letters.ts';
import { paymentLinkHandlers } from './rpc/payment-links.ts';
import { paymentMethodHandlers } from './rpc/payment-methods.ts';
import { reviewHandlers } from './rpc/reviews.ts';
import { sessionHandlers } from './rpc/sessions.ts';
import { setUpHandlers } from './rpc/set-ups.ts';
import { substantiationHandlers } from './rpc/substantiation.ts';
import { countChargeWork, sweepChargesJob } from './store/charge-work.ts';
import { countCapturedElsewhere } from './store/holds.ts';
import { journalLagSeconds } from './store/journal.ts';

declareFailpoints(chargeFailpoints);

const inDoubtAfterSeconds = 300;

/** Checkout: customers, payment methods, sessions with their stored split, and all money received. */
export const checkoutService: ServiceComposition<CheckoutSettings> = {
  name: 'checkout',
  migrations: [
    eventsMigrations,
    operatorMigrations,
    idempotencyMigrations,
    migrationSource('checkout', new URL('../migrations', import.meta.url)),
  ],
  settings: readCheckoutSettings,
  async build(service) {
    const { database, clock, logger, callerFor, failpoint, settings } = service;
    const { budgets, pages, keyring } = settings;
    const checkKeyring = await startWithKeyring(database, keyring, { sealed: 'answers for letters', logger });
    const recovery = new Recovery(() => service.wake(sweepChargesJob));
    const processors = openServiceProcessors(settings.processors, service, {
      beforeCall: () => refuseInsideTransaction('a call to the processor'),
      requestId: () => currentRequest()?.requestId,
      onRecovered: () => recovery.note(),
    });
    watchChargeWork(service);
    const catalog = service.client(CatalogService);
    const context: Context = {
      ...{ database, processors, clock, logger, keyring, callerFor, pages, failpoint, budgets },
      catalog,
      plainCarts: openPlainCarts(catalog),
      turns: openPaymentTurns(),
      groups: openChargeGroups({ database, clock, failpoint, budgets }),
      creationFacts: openCreationFacts(database),
      newSessions: openNewSessions(database),
      newKeyedSessions: openNewKeyedSessions(database),
    };
    return {
      handlers: [
        implement(CheckoutService, {
          ...customerHandlers(context),
          ...paymentMethodHandlers(context),
          ...sessionHandlers(context),
          ...chargingHandlers(context),
          ...setUpHandlers(context),
          ...healthCardStatementHandlers(context),
          ...captureHandlers(context),
          ...substantiationHandlers(context),
          ...paymentLinkHandlers(context),
          ...intentHandlers(context),
          ...letterHandlers(context),
          ...reviewHandlers(context),
        }),
      ],
      consumers: [renewals(context), refundReceipts],
      jobs: [
        sweepDueCharges(context, recovery),
        expireSessions(context),
        expireLetters(context),
        followHolds(context),
        followSetUps(context),
        fillProcessors(context),
        tellJournals(context),
        settleCatalogTasks(context),
        pruneOldRows(context),
      ],
      ready: { keyring: checkKeyring },
      async stop() {
        processors.close();
      },
    };
  },
};

// Numbers that are looked up when Prometheus asks; what they mean is in docs/operations.md.
function watchChargeWork({ metrics, database }: ServiceContext<CheckoutSettings>): void {
  const waiting = () => countChargeWork(database, inDoubtAfterSeconds);
  const minutes = inDoubtAfterSeconds / 60;
  metrics.gauge(
    'charge_attempts_in_doubt',
    `Charges with an unknown outcome for over ${minutes} minutes`,
    async () => (await waiting()).attemptsInDoubt,
  );
  metrics.gauge(
    'payment_plans_waiting',
    'Checkout page payments that are unsettled and waiting to be resumed',
    async () => (await waiting()).plans,
  );
  metrics.gauge('journal_lag_seconds', 'Age of the oldest capture that is not posted to the ledger', () =>
    journalLagSeconds(database),
  );
  metrics.gauge(
    'hold_operations_waiting',
    `Holds with a capture or void pending for over ${minutes} minutes`,
    async () => (await waiting()).holds,
  );
  metrics.gauge('holds_captured_elsewhere', 'Holds captured at the processor outside Eligo, counted up to 1,000', () =>
    countCapturedElsewhere(database),
  );
}
