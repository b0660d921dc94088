import { Code } from '@connectrpc/connect';
import type { Progress } from '@eligo/events';
import type { Database } from '@eligo/postgres';
import type { FinishedCall, ServerObserver } from '@eligo/rpc';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { JobObserver } from './jobs.ts';
import type { Logger } from './logger.ts';
import { version } from './version.ts';
import { WritePace } from './write-pace.ts';

/** The Prometheus metrics of one component. What cannot be read when Prometheus asks is left out: an outage takes its own numbers alone. */
export interface Metrics {
  readonly registry: Registry;
  /** A number that is looked up when Prometheus asks: outbox age, consumer lag, attempts in doubt. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void;
  /** Counts that another part keeps, one per label, read when Prometheus asks. */
  counts(name: string, help: string, label: string, read: () => Iterable<readonly [string, number]>): void;
  /** The same, with one value per combination of labels, and read when Prometheus asks. */
  gaugeTable<Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    read: () => Promise<readonly (readonly [Record<Label, string>, number])[]>,
  ): void;
  counter<Label extends string>(name: string, help: string, labels: readonly Label[]): Counter<Label>;
  histogram<Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    buckets?: readonly number[],
  ): Histogram<Label>;
  /** What the RPC server tells its calls to. */
  rpcObserver(logger: Logger): ServerObserver;
  readonly jobObserver: JobObserver;
  /** Makes the pace of the component's new writes, from looks at how far its events are behind. */
  watchPace(look: () => Promise<Progress>): WritePace;
  /** Watches the pool of a database. */
  watchPool(database: Database): void;
  /** The page that Prometheus reads, those of the process (memory, event loop lag) included. */
  page(): Promise<string>;
}

/** Makes the metrics of a component. Names get the prefix `eligo_`, and each line the label `service`. */
export function createMetrics(service: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  const registers = [registry];
  const counter: Metrics['counter'] = (name, help, labels) =>
    new Counter({ name: `eligo_${name}`, help, labelNames: labels, registers });
  const histogram: Metrics['histogram'] = (name, help, labels, buckets = secondsBuckets) =>
    new Histogram({ name: `eligo_${name}`, help, labelNames: labels, buckets: [...buckets], registers });

  const calls = histogram('rpc_server_seconds', 'RPC calls by method, caller and code', ['method', 'from', 'code']);
  const inFlight = new Gauge({ name: 'eligo_rpc_in_flight', help: 'RPC calls in flight', registers });
  const runs = histogram('job_seconds', 'Job runs by job and success', ['job', 'ok']);
  const unexpected = counter('unexpected_errors_total', 'RPC calls that failed with an unexpected error, by method', [
    'method',
  ]);

  const build = new Gauge({
    name: 'eligo_build_info',
    help: 'Release of Eligo, by version',
    labelNames: ['version'],
    registers,
  });
  build.set({ version }, 1);

  const gauge: Metrics['gauge'] = (name, help, read) => {
    const made: Gauge = new Gauge({
      name: `eligo_${name}`,
      help,
      registers,
      async collect() {
        try {
          made.set(await read());
        } catch {
          made.remove();
        }
      },
    });
  };
  return {
    registry,
    counter,
    histogram,
    gauge,
    counts(name, help, label, read) {
      const made: Counter = new Counter({
        name: `eligo_${name}`,
        help,
        labelNames: [label],
        registers,
        collect() {
          made.reset();
          for (const [value, number] of read()) made.inc({ [label]: value }, number);
        },
      });
    },
    gaugeTable(name, help, labels, read) {
      const made: Gauge = new Gauge({
        name: `eligo_${name}`,
        help,
        labelNames: [...labels],
        registers,
        async collect() {
          const rows = await read().catch(nothing);
          made.reset();
          for (const [labelsOfRow, number] of rows) made.set(labelsOfRow, number);
        },
      });
    },
    rpcObserver: (logger) => ({
      started: () => inFlight.inc(),
      finished(method, call) {
        inFlight.dec();
        const { from, code, durationMs } = call;
        const labels = { method: method.name, from, code: code === undefined ? 'ok' : Code[code] };
        calls.observe(labels, durationMs / 1_000);
        // A request makes several calls. At `info` it has one line, the gateway's.
        if (logger.isLevelEnabled('debug')) logger.debug(fieldsOf(method.name, call), 'Call completed');
      },
      unexpected(error, { method, requestId, from }) {
        unexpected.inc({ method: method.name });
        logger.error({ err: error, method: method.name, from, requestId }, 'Call failed with an unexpected error');
      },
      unavailable(error, { method, requestId, from }) {
        logger.warn(
          { err: error, method: method.name, from, requestId },
          'Request refused because a dependency is unavailable',
        );
      },
    }),
    jobObserver: {
      ran: (job, { ok, durationMs }) => runs.observe({ job, ok: String(ok) }, durationMs / 1_000),
    },
    watchPace(look) {
      const heldBack = counter(
        'writes_held_back_total',
        'Writes delayed or refused because event processing is behind',
        ['outcome'],
      );
      const pace = new WritePace({
        look,
        onHeldBack: (isAdmitted) => heldBack.inc({ outcome: isAdmitted ? 'admitted' : 'refused' }),
      });
      gauge(
        'events_behind_seconds',
        'Age of the oldest event that a consumer has not handled, measured while many writes arrive; otherwise 0',
        () => {
          return pace.stats().behindMs / 1_000;
        },
      );
      return pace;
    },
    watchPool(database) {
      gauge('pool_connections', 'Connections in the pool', () => database.stats().total);
      gauge('pool_idle', 'Idle connections in the pool', () => database.stats().idle);
      gauge('pool_waiting', 'Callers waiting for a connection', () => database.stats().waiting);
      this.counts('pool_refused_total', 'Callers refused because no connection became free in time', 'caller', () =>
        database.refused(),
      );
    },
    // Merging registries would lose the labels that each gives to all of its lines; no name is in both.
    page: async () => `${await processMetrics().metrics()}\n${await registry.metrics()}`,
  };
}

/** The names of the gateway's line. `code` is the refusal, as there, or that of an RPC that failed otherwise. */
function fieldsOf(method: string, { from, requestId, scope, code, refusal, durationMs }: FinishedCall): object {
  return {
    requestId,
    ...(scope === undefined || scope.accountId === '' ? {} : scope),
    ...{ method, from, code: refusal ?? (code === undefined ? undefined : Code[code]) },
    durationMs: Math.round(durationMs * 10) / 10,
  };
}

// A read takes one millisecond, a call to the processor seconds.
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

function nothing(): [] {
  return [];
}

let ofTheProcess: Registry | undefined;

// Memory, CPU and event loop lag belong to the process, however many components share it.
function processMetrics(): Registry {
  if (ofTheProcess === undefined) {
    ofTheProcess = new Registry();
    collectDefaultMetrics({ register: ofTheProcess });
    // Gauges, which no name may end in `_total`. The metrics by type, such as nodejs_active_resources, add up to them.
    for (const sum of ['handles', 'requests', 'resources'])
      ofTheProcess.removeSingleMetric(`nodejs_active_${sum}_total`);
  }
  return ofTheProcess;
}
