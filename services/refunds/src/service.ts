import { eventsMigrations } from '@eligo/events';
import { idempotencyMigrations, migrationSource, refuseInsideTransaction } from '@eligo/postgres';
import { openServiceProcessors, Recovery } from '@eligo/processor';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import { RefundsService } from '@eligo/proto/refunds/v1/refunds';
import { currentRequest, implement } from '@eligo/rpc';
import { declareFailpoints, operatorMigrations, type ServiceComposition } from '@eligo/service';
import { openRefundGroups } from './actions/refund-groups.ts';
import { type RefundsSettings, readRefundsSettings } from './config.ts';
import { ledger } from './consumers/ledger.ts';
import { refundCommands } from './consumers/refund-commands.ts';
import type { Context } from './context.ts';
import {
  disputeFailpoints,
  eventFailpoints,
  eventListFailpoints,
  evidenceFailpoints,
  refundFailpoints,
} from './failpoints.ts';
import { carryOutWork } from './jobs/carry-out-work.ts';
import { deleteStaleEvidence } from './jobs/delete-stale-evidence.ts';
import { fillProcessors } from './jobs/fill-processor-accounts.ts';
import { findNewEventLists } from './jobs/find-event-lists.ts';
import { handleEvents } from './jobs/handle-events.ts';
import { keepLedger } from './jobs/keep-ledger.ts';
import { lookAtDisputes } from './jobs/look-at-disputes.ts';
import { lookAtPayouts } from './jobs/look-at-payouts.ts';
import { pruneOldKeys } from './jobs/prune-keys.ts';
import { readEventLists } from './jobs/read-event-lists.ts';
import { RefundWorker } from './jobs/refund-worker.ts';
import { sweepRefunds } from './jobs/sweep-refunds.ts';
import { balanceTransactionHandlers } from './rpc/balance-transactions.ts';
import { disputeHandlers } from './rpc/disputes.ts';
import { payoutHandlers } from './rpc/payouts.ts';
import { refundHandlers } from './rpc/refunds.ts';
import { reportHandlers } from './rpc/reports.ts';
import { countWorkInDoubt, sweepRefundsJob } from './store/due-work.ts';
import { eventListLagSeconds } from './store/event-lists.ts';
import { ledgerLagSeconds } from './store/ledger-feeds.ts';
import { countWaitingEvents, handleEventsJob } from './store/processor-events.ts';

/** What nobody knows the outcome of for longer than this is an operator's to look at. */
const inDoubtAfterSeconds = 300;

/** The refunds service: money returned. */
export const refundsService: ServiceComposition<RefundsSettings> = {
  name: 'refunds',
  migrations: [
    eventsMigrations,
    operatorMigrations,
    idempotencyMigrations,
    migrationSource('refunds', new URL('../migrations', import.meta.url)),
  ],
  settings: readRefundsSettings,
  build(service) {
    const { database, logger, metrics, failpoint } = service;
    metrics.gauge(
      'refunds_in_doubt',
      'Refunds with an unknown outcome or pending request for over 5 minutes, up to 3,000',
      () => countWorkInDoubt(database, inDoubtAfterSeconds),
    );
    metrics.gauge(
      'processor_events_waiting',
      'Events of the processor that have waited for over 5 minutes, up to 1,000',
      () => countWaitingEvents(database, inDoubtAfterSeconds),
    );
    metrics.gauge(
      'processor_event_list_lag_seconds',
      'Age of the oldest watermark in the event lists of the processors',
      () => eventListLagSeconds(database),
    );
    const undelivered = metrics.counter(
      'processor_events_undelivered_total',
      'Events read from an event list before any delivery, by processor',
      ['processor'],
    );
    const beyondReceived = metrics.counter(
      'disputes_beyond_received_total',
      'Dispute statuses recorded with an amount that was already refunded',
      [],
    );
    metrics.gauge(
      'ledger_lag_seconds',
      'Age of the oldest journal entry, balance transaction or balance read that the ledger is waiting for',
      () => ledgerLagSeconds(database),
    );
    const recoveries = {
      refunds: new Recovery(() => service.wake(sweepRefundsJob)),
      events: new Recovery(() => service.wake(handleEventsJob)),
    };
    const processors = openServiceProcessors(service.settings.processors, service, {
      beforeCall: () => refuseInsideTransaction('a call to the processor'),
      requestId: () => currentRequest()?.requestId,
      onRecovered() {
        recoveries.refunds.note();
        recoveries.events.note();
      },
    });
    const worker = new RefundWorker({
      database,
      carryOut: (work) => carryOutWork(context, work),
      onError: (error, { kind }) => logger.error({ err: error, kind }, 'Refund processing failed; will retry'),
    });
    const { budgets } = service.settings;
    const context: Context = {
      ...{ database, processors, logger, failpoint, budgets },
      groups: openRefundGroups(database, budgets),
      checkout: service.client(CheckoutService),
      callFor: ({ accountId, testMode }, features) => ({
        caller: service.callerFor({ accountId, testMode, features }),
        requestId: currentRequest()?.requestId,
      }),
      wake: (work) => worker.wake(work),
      countDisputeBeyondReceived: () => beyondReceived.inc(),
    };
    return {
      handlers: [
        implement(RefundsService, {
          ...refundHandlers(context),
          ...disputeHandlers(context),
          ...balanceTransactionHandlers(context),
          ...payoutHandlers(context),
          ...reportHandlers(context),
        }),
      ],
      consumers: [refundCommands(context), ledger],
      jobs: [
        sweepRefunds(context, worker, recoveries.refunds),
        handleEvents(context, recoveries.events),
        findNewEventLists(context),
        readEventLists(context, (processor, events) => undelivered.inc({ processor }, events)),
        lookAtDisputes(context),
        lookAtPayouts(context),
        ...keepLedger(context),
        deleteStaleEvidence(context),
        fillProcessors(context),
        pruneOldKeys(context),
      ],
      async stop() {
        await worker.stop();
        processors.close();
      },
    };
  },
};

declareFailpoints(refundFailpoints);
declareFailpoints(eventFailpoints);
declareFailpoints(eventListFailpoints);
declareFailpoints(disputeFailpoints);
declareFailpoints(evidenceFailpoints);
