import { eventsMigrations } from '@eligo/events';
import { migrationSource } from '@eligo/postgres';
import { WebhooksService } from '@eligo/proto/webhooks/v1/webhooks';
import { implement } from '@eligo/rpc';
import {
  declareFailpoints,
  operatorMigrations,
  processTurns,
  type ServiceComposition,
  startWithKeyring,
} from '@eligo/service';
import { keyOpener, secretBox } from './actions/secret-box.ts';
import { readWebhooksSettings, type WebhooksSettings } from './config.ts';
import { publicEvents } from './consumers/public-events.ts';
import type { Context } from './context.ts';
import { deliveryShare } from './jobs/delivery/delivery-share.ts';
import { nameLookUp } from './jobs/delivery/look-up-name.ts';
import { nameResolver } from './jobs/delivery/name-resolver.ts';
import { openPoster } from './jobs/delivery/post.ts';
import { DeliveryWorker } from './jobs/delivery/worker.ts';
import { exhaustDeliveries } from './jobs/exhaust-deliveries.ts';
import { continueFanOut } from './jobs/fan-out.ts';
import { purgeOldEvents } from './jobs/purge-events.ts';
import { sweepDeliveries } from './jobs/sweep-deliveries.ts';
import { endpointHandlers } from './rpc/endpoints.ts';
import { eventHandlers } from './rpc/events.ts';
import { fanOutLagSeconds } from './store/fan-outs.ts';

/** The webhooks service: events as partners see them, their endpoints, and the sending. */
export const webhooksService: ServiceComposition<WebhooksSettings> = {
  name: 'webhooks',
  migrations: [
    eventsMigrations,
    operatorMigrations,
    migrationSource('webhooks', new URL('../migrations', import.meta.url)),
  ],
  settings: readWebhooksSettings,
  async build({ settings: { rules, keyring }, database, clock, logger, metrics, failpoint, traced, wake }) {
    const checkKeyring = await startWithKeyring(database, keyring, { sealed: 'webhook secrets', logger });
    const secrets = secretBox(keyring);
    const attempts = metrics.counter('webhook_attempts_total', 'Webhook delivery attempts by outcome', ['outcome']);
    const durations = metrics.histogram('webhook_attempt_seconds', 'Duration of webhook delivery attempts', [
      'outcome',
    ]);
    metrics.gauge('fan_out_lag_seconds', 'Age of the oldest event whose deliveries are not all planned yet', () =>
      fanOutLagSeconds(database),
    );
    const poster = openPoster({ rules, resolver: nameResolver({ lookUp: nameLookUp() }) });
    const share = deliveryShare(processTurns());
    const worker = new DeliveryWorker({
      database,
      poster,
      share,
      clock,
      failpoint,
      onDue: (inMs) => wake('deliver', inMs),
      traced: (name, traceparent, work) => traced(name, traceparent === '' ? undefined : traceparent, work),
      openKey: keyOpener(secrets),
      onError: (error, where) => logger.error({ err: error }, `Delivery worker failed while ${where}; will retry`),
      onAttempt({ error, durationMs, responseStatus }) {
        const outcome = error === null ? 'succeeded' : responseStatus === null ? 'no_answer' : 'refused';
        attempts.inc({ outcome });
        durations.observe({ outcome }, durationMs / 1_000);
      },
    });
    const context: Context = { database, clock, rules, secrets, sender: worker, share };
    const fanOut = continueFanOut(context, (err) =>
      logger.error({ err }, 'Failed to plan deliveries of events; will retry'),
    );
    return {
      handlers: [implement(WebhooksService, { ...endpointHandlers(context), ...eventHandlers(context) })],
      consumers: [publicEvents(context)],
      jobs: [fanOut, sweepDeliveries(worker), exhaustDeliveries(context), purgeOldEvents(context)],
      ready: { keyring: checkKeyring },
      async stop() {
        await worker.stop();
        poster.close();
      },
    };
  },
};

declareFailpoints(['webhooks.deliver.after_send']);
