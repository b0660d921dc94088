import { eventsMigrations } from '@eligo/events';
import { migrationSource } from '@eligo/postgres';
import { WebhooksService } from '@eligo/proto/webhooks/v1/webhooks';
import { implement } from '@eligo/rpc';
import { declareFailpoints, type ServiceComposition } from '@eligo/service';
import { keyOpener, secretBox } from './actions/secret-box.ts';
import { readWebhooksSettings, type WebhooksSettings } from './config.ts';
import { publicEvents } from './consumers/public-events.ts';
import type { Context } from './context.ts';
import { openPoster } from './jobs/delivery/post.ts';
import { systemResolver } from './jobs/delivery/resolve.ts';
import { DeliveryWorker } from './jobs/delivery/worker.ts';
import { exhaustDeliveries } from './jobs/exhaust-deliveries.ts';
import { purgeEvents } from './jobs/purge-events.ts';
import { endpointMethods } from './rpc/endpoints.ts';
import { eventMethods } from './rpc/events.ts';

/** The webhooks service: events as partners see them, their endpoints, and the sending. */
export const webhooksService: ServiceComposition<WebhooksSettings> = {
  name: 'webhooks',
  migrations: [eventsMigrations, migrationSource('webhooks', new URL('../migrations', import.meta.url))],
  settings: readWebhooksSettings,
  build({ settings: { rules }, database, clock, keyring, logger, metrics, failpoint, traced, wake }) {
    const secrets = secretBox(keyring);
    const attempts = metrics.counter('webhook_attempts_total', 'Webhook delivery attempts by outcome', ['outcome']);
    const durations = metrics.histogram('webhook_attempt_seconds', 'Duration of webhook delivery attempts', [
      'outcome',
    ]);
    const poster = openPoster({ rules, resolver: systemResolver() });
    const worker = new DeliveryWorker({
      database,
      poster,
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
    const webhooks: Context = { database, clock, rules, secrets, sender: worker };
    return {
      handlers: [implement(WebhooksService, { ...endpointMethods(webhooks), ...eventMethods(webhooks) })],
      consumers: [publicEvents(webhooks)],
      jobs: [
        // The sender is handed new deliveries, and knows its retries; this finds what a process that died, or was never woken, has left.
        { name: 'deliver', everyMs: 10_000, run: () => worker.sweep() },
        exhaustDeliveries(database),
        { name: 'purge-events', everyMs: 3_600_000, run: (signal) => purgeEvents(database, clock, signal) },
      ],
      async stop() {
        await worker.stop();
        poster.close();
      },
    };
  },
};

declareFailpoints(['webhooks.deliver.after_send']);
