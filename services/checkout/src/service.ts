import { eventsMigrations } from '@eligo/events';
import { idempotencyMigrations, migrationSource, refuseInsideTransaction } from '@eligo/postgres';
import { openServiceProcessors } from '@eligo/processor';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import { implement } from '@eligo/rpc';
import type { ServiceComposition, ServiceContext } from '@eligo/service';
import { chargeAtOnce } from './actions/charge-at-once.ts';
import { openChargeGroups } from './actions/charge-groups.ts';
import { openNewSessions } from './actions/create-session.ts';
import { openPaymentTurns } from './actions/payment-turn.ts';
import { voidHolds } from './actions/void-holds.ts';
import type { Charging } from './charging.ts';
import { type CheckoutSettings, readCheckoutSettings } from './config.ts';
import { renewals } from './consumers/renewals.ts';
import { acceptsHealthCards } from './domain/confirm-rules.ts';
import { expireLetters } from './jobs/expire-letters.ts';
import { expireSessions } from './jobs/expire-sessions.ts';
import { pruneOldRows } from './jobs/prune.ts';
import { settleCatalogTasks } from './jobs/settle-catalog-tasks.ts';
import { sweepDueCharges } from './jobs/sweep-charges.ts';
import type { Resources } from './resources.ts';
import { captureHandlers } from './rpc/captures.ts';
import { chargingHandlers } from './rpc/charging.ts';
import { customerHandlers } from './rpc/customers.ts';
import { intentHandlers } from './rpc/intents.ts';
import { letterHandlers } from './rpc/letters.ts';
import { paymentLinkHandlers } from './rpc/payment-links.ts';
import { paymentMethodHandlers } from './rpc/payment-methods.ts';
import { reviewHandlers } from './rpc/reviews.ts';
import { sessionHandlers } from './rpc/sessions.ts';
import { countChargeWork } from './store/charge-work.ts';

const inDoubtAfterSeconds = 300;

/** Checkout: customers, payment methods, sessions with their stored split, and all money received. */
export const checkoutService: ServiceComposition<CheckoutSettings> = {
  name: 'checkout',
  migrations: [
    eventsMigrations,
    idempotencyMigrations,
    migrationSource('checkout', new URL('../migrations', import.meta.url)),
  ],
  settings: readCheckoutSettings,
  build(context) {
    const { database, clock, logger, failpoint, settings } = context;
    const processors = openServiceProcessors(settings.processors, context, () =>
      refuseInsideTransaction('a call to the processor'),
    );
    watchChargeWork(context);
    const { budgets } = settings;
    const turns = openPaymentTurns();
    const groups = openChargeGroups({ database, clock, failpoint, budgets });
    const charging: Charging = { database, processors, clock, logger, failpoint, budgets, turns, groups };
    const resources: Resources = {
      ...charging,
      catalog: context.client(CatalogService),
      pages: settings.pages,
      newSessions: openNewSessions(database),
      chargeSession: (scope, session, call) => chargeAtOnce(charging, scope, session, !acceptsHealthCards(call.caller)),
      voidHolds: (scope, session) => voidHolds(charging, scope, session),
    };
    return {
      handlers: [
        implement(CheckoutService, {
          ...customerHandlers(resources),
          ...paymentMethodHandlers(resources),
          ...sessionHandlers(resources),
          ...chargingHandlers(charging, context.keyring),
          ...captureHandlers(database),
          ...paymentLinkHandlers(resources),
          ...intentHandlers(database),
          ...letterHandlers(charging),
          ...reviewHandlers(charging, context.keyring),
        }),
      ],
      consumers: [renewals],
      jobs: [
        sweepDueCharges(charging),
        expireSessions(resources),
        expireLetters(resources),
        settleCatalogTasks(resources, context.callerFor),
        pruneOldRows(database),
      ],
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
  metrics.gauge(
    'hold_operations_waiting',
    `Holds with a capture or void pending for over ${minutes} minutes`,
    async () => (await waiting()).holds,
  );
}
