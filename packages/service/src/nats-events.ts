import {
  type ConsumerDefinition,
  checkEvents,
  connectNats,
  consume,
  countDeadLetters,
  currentRepair,
  EventsUnavailable,
  outboxLag,
  provideEventContext,
  type Relay,
  type RunningConsumer,
  startRelay,
  streamBytes,
  watchProgress,
} from '@eligo/events';
import { currentRequest, isRequestId, newRequestId, withRequestContext } from '@eligo/rpc';
import type { ConnectEvents } from './event-bus.ts';
import { NotReady } from './health.ts';
import type { Metrics } from './metrics.ts';
import { oncePerScrape } from './once-per-scrape.ts';
import { traceWork } from './trace-work.ts';

/** The event bus of production: NATS JetStream, by @eligo/events. Waits for the server if it is not up yet. */
export const connectNatsEvents: ConnectEvents = async (options) => {
  const {
    service,
    url,
    tlsFolder,
    logger,
    metrics,
    tracing,
    onClosed,
    onUnreachable,
    streamReplicas,
    storeLimitBytes,
  } = options;
  provideEventContext(contextOfTheRequest);
  const connection = await connectNats({ url, tlsFolder, service, logger, onUnreachable });
  void connection.closed.then((error) => {
    if (error !== undefined) onClosed(error);
  });
  const consumers = new Map<string, RunningConsumer>();
  let relay: Relay | undefined;
  watchConsumers(metrics, consumers);
  watchLag(metrics, consumers);
  metrics.gauge('stream_bytes', 'Bytes of the component’s stream in JetStream', async () => {
    return (await streamBytes(connection, service)) ?? 0;
  });
  if (storeLimitBytes !== undefined)
    metrics.gauge('nats_store_limit_bytes', 'Bytes that JetStream may take for all streams', () => storeLimitBytes);
  return {
    async check(database) {
      const refusal = relay?.refusal();
      if (refusal !== undefined) throw new NotReady(`publishing is blocked: ${refusal}`);
      const refused = [...consumers.values()].map((running) => running.refusal()).find((text) => text !== undefined);
      if (refused !== undefined) throw new NotReady(`consuming is blocked: ${refused}`);
      await checkEvents(connection, service, database).catch((error: unknown) => {
        throw error instanceof EventsUnavailable ? new NotReady(error.message) : error;
      });
    },
    startRelay(database) {
      const lag = oncePerScrape(() => outboxLag(database));
      metrics.gauge(
        'outbox_waiting',
        'Events not yet published, counted up to 100,000',
        async () => (await lag()).waiting,
      );
      metrics.gauge('outbox_oldest_seconds', 'Age of the oldest event not yet published', async () => {
        return (await lag()).oldestMs / 1_000;
      });
      const repair = oncePerScrape(() => currentRepair(database));
      metrics.gauge('outbox_repair_events', 'Events republished by the stream repair in progress', async () => {
        return (await repair())?.events ?? 0;
      });
      metrics.gauge(
        'outbox_repair_remaining_seconds',
        'Time span of the events that the stream repair in progress has yet to republish',
        async () => ((await repair())?.remainingMs ?? 0) / 1_000,
      );
      metrics.gauge('dead_letters', 'Dead-lettered events not yet redriven', () => countDeadLetters(database));
      relay = startRelay({ database, service, connection, logger, stream: { replicas: streamReplicas } });
      return relay;
    },
    watchProgress: (database) => watchProgress(database, connection, service),
    startConsumer(database, definition: ConsumerDefinition) {
      const running = consume({
        ...definition,
        ...{ database, connection, service, logger },
        around: (event, run) =>
          underEvent(event, () => traceWork(tracing, `consume ${event.type}`, event.traceparent, run, 'consumer')),
      });
      consumers.set(definition.consumer, running);
      return running;
    },
    close: () => connection.close(),
  };
};

function watchConsumers(metrics: Metrics, consumers: ReadonlyMap<string, RunningConsumer>): void {
  for (const what of ['handled', 'repeated', 'failed', 'deadLettered'] as const) {
    const name = what === 'deadLettered' ? 'dead_lettered' : what;
    metrics.counts(`events_${name}_total`, `Events ${name.replace('_', '-')} since startup`, 'consumer', () =>
      [...consumers].map(([consumer, running]) => [consumer, running.stats()[what]] as const),
    );
  }
}

// How far each consumer is behind, as the server counts it: both numbers come with one question.
function watchLag(metrics: Metrics, consumers: ReadonlyMap<string, RunningConsumer>): void {
  const read = oncePerScrape(async () => {
    const lags = await Promise.all(
      [...consumers].map(async ([consumer, running]) => (await running.lag()).map((lag) => ({ consumer, ...lag }))),
    );
    return lags.flat();
  });
  const table = (name: string, help: string, what: 'pending' | 'unacknowledged') =>
    metrics.gaugeTable(name, help, ['consumer', 'from'], async () =>
      (await read()).map((lag) => [{ consumer: lag.consumer, from: lag.from }, lag[what]] as const),
    );
  table('consumer_pending', 'Events in the stream not yet delivered to the consumer', 'pending');
  table('consumer_unacknowledged', 'Events delivered to the consumer and not yet acknowledged', 'unacknowledged');
}

function contextOfTheRequest() {
  const current = currentRequest();
  if (current === undefined) return undefined;
  return { requestId: current.requestId, traceparent: current.traceparent ?? '' };
}

// What an event causes belongs to the request that caused the event.
function underEvent(event: { requestId: string; traceparent: string }, run: () => Promise<void>): Promise<void> {
  const requestId = isRequestId(event.requestId) ? event.requestId : newRequestId();
  const traceparent = event.traceparent === '' ? undefined : event.traceparent;
  return withRequestContext({ requestId, traceparent }, run);
}
