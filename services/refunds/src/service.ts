import { eventsMigrations } from '@eligo/events';
import { idempotencyMigrations, migrationSource, refuseInsideTransaction } from '@eligo/postgres';
import { openServiceProcessors } from '@eligo/processor';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import { RefundsService } from '@eligo/proto/refunds/v1/refunds';
import { currentRequest, implement } from '@eligo/rpc';
import { declareFailpoints, type ServiceComposition } from '@eligo/service';
import { type Refunds, refundFailpoints } from './actions/context.ts';
import { type RefundsSettings, readRefundsSettings } from './config.ts';
import { refundCommands } from './consumers/refund-commands.ts';
import { carryOutWork } from './jobs/carry-out-work.ts';
import { pruneOldKeys } from './jobs/prune-keys.ts';
import { RefundWorker } from './jobs/refund-worker.ts';
import { sweepRefunds } from './jobs/sweep-refunds.ts';
import { refundMethods } from './rpc/refunds.ts';
import { countWorkInDoubt } from './store/due-work.ts';

/** What nobody knows the outcome of for longer than this is an operator's to look at. */
const inDoubtAfterSeconds = 300;

/** The refunds service: money returned. */
export const refundsService: ServiceComposition<RefundsSettings> = {
  name: 'refunds',
  migrations: [
    eventsMigrations,
    idempotencyMigrations,
    migrationSource('refunds', new URL('../migrations', import.meta.url)),
  ],
  settings: readRefundsSettings,
  build(context) {
    const { database, logger, metrics, failpoint } = context;
    metrics.gauge(
      'refunds_in_doubt',
      'Refunds with an unknown outcome or pending request for over 5 minutes, up to 3,000',
      () => countWorkInDoubt(database, inDoubtAfterSeconds),
    );
    const processors = openServiceProcessors(context.settings.processors, context, () =>
      refuseInsideTransaction('a call to the processor'),
    );
    const worker = new RefundWorker({
      database,
      carryOut: (work) => carryOutWork(refunds, work),
      onError: (error, { kind }) => logger.error({ err: error, kind }, 'Refund processing failed; will retry'),
    });
    const refunds: Refunds = {
      ...{ database, processors, failpoint, budgets: context.settings.budgets },
      checkout: context.client(CheckoutService),
      callFor: ({ accountId, testMode }, features) => ({
        caller: context.callerFor({ accountId, testMode, features }),
        requestId: currentRequest()?.requestId,
      }),
      wake: (work) => worker.wake(work),
      alert: (fields, message) => logger.warn(fields, message),
    };
    return {
      handlers: [implement(RefundsService, refundMethods(refunds))],
      consumers: [refundCommands(refunds)],
      jobs: [sweepRefunds(database, worker), pruneOldKeys(database)],
      async stop() {
        await worker.stop();
        processors.close();
      },
    };
  },
};

declareFailpoints(refundFailpoints);
