import type { DescMethod } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { pruneEvents } from '@eligo/events';
import { asCall, asOwnWork, type Database, openDatabase } from '@eligo/postgres';
import { type Call, type Handlers, type Identity, type RpcServer, rpcServer } from '@eligo/rpc';
import { type Clock, systemClock } from '@eligo/values';
import { openCertificate } from './component-certificate.ts';
import type { ServiceComposition, ServiceContext } from './composition.ts';
import { DiskWatch } from './disk-watch.ts';
import { EnvironmentReader, type EnvironmentRecord } from './environment.ts';
import type { ConnectEvents, EventBus } from './event-bus.ts';
import { failpoint, turnFailpointsOn } from './failpoints.ts';
import type { Readiness } from './health.ts';
import { healthHandlers } from './health-handlers.ts';
import { type Job, prepareJobs, type RunningJobs } from './jobs.ts';
import { createLogger, type Logger } from './logger.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { connectNatsEvents } from './nats-events.ts';
import { openPeers, type TransportTo } from './peers.ts';
import { RunningService, type ServicePorts } from './running-service.ts';
import { readServiceSettings, type ServiceSettings } from './service-settings.ts';
import { traceWork } from './trace-work.ts';
import { openTracing, type Tracing } from './tracing.ts';
import { callTurns } from './turns/call-turns.ts';
import { WaitingAdmin } from './waiting-admin.ts';
import { wakeJobsOf } from './wake-job.ts';
import { watchReadiness } from './watch-readiness.ts';

/** What a service is put together from, beside its composition. */
export interface ServiceParts {
  /** The variables that this service reads; a stack gives each service a record of its own. */
  readonly environment: EnvironmentRecord;
  /** How peers are reached: by gRPC at `<PEER>_URL` unless given. */
  readonly transportTo?: TransportTo | undefined;
  /** Whether the service accepts gRPC; a stack in one process says false. */
  readonly grpc?: boolean | undefined;
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
  readonly database?: Database | undefined;
  readonly connectEvents?: ConnectEvents | undefined;
  /** In place of the one that the environment names. */
  readonly disk?: DiskWatch | undefined;
  /** Told when the service cannot go on (its event bus closed for good). */
  readonly onFatal?: ((error: unknown) => void) | undefined;
}

/** A service, built; nothing of it runs before `start`. */
export interface Service {
  readonly name: string;
  readonly handlers: Handlers;
  /** Serves its methods, to be put behind an in-process transport. */
  readonly server: RpcServer;
  readonly identity: Identity;
  readonly database: Database;
  readonly jobs: RunningJobs;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /**
   * Opens its ports and starts its relay, consumers and jobs. `openMore` opens what else is to be reachable before the log says `Started`, and
   * returns the fields of that line.
   */
  start(openMore?: () => Promise<object>): Promise<ServicePorts>;
  ready(): Promise<Readiness>;
  /**
   * Becomes not ready and continues to work: the first step of a shutdown, for callers that take other steps before `stop`. Resolves when load
   * balancers have had the time to see it.
   */
  leave(): Promise<void>;
  /** Stops in order, each step for a bounded time. */
  stop(): Promise<void>;
}

/** Puts a service together: reads its environment, opens what it needs, builds it. Throws EnvironmentProblems listing all that is wrong. */
export async function buildService<Settings>(
  composition: ServiceComposition<Settings>,
  parts: ServiceParts,
): Promise<Service> {
  const { name } = composition;
  const environment = new EnvironmentReader(parts.environment);
  const common = readServiceSettings(environment, name);
  // A composition without settings of its own has Settings = undefined.
  const settings = composition.settings?.(environment) as Settings;
  environment.assertSound();
  const { identity } = common;
  if (identity === undefined) throw new Error('The environment passed validation but cannot be read');
  if (common.failpoints) turnFailpointsOn(common.armedFailpoint);

  const logger = parts.logger ?? createLogger({ service: name, level: common.logLevel });
  const metrics = createMetrics(name);
  const tracing = await openTracing({ service: name, endpoint: common.otlpEndpoint, ratio: common.traceRatio, logger });
  const tracer = tracing?.tracer;
  const database = parts.database ?? openOwnDatabase(name, common, logger, tracing);
  metrics.watchPool(database);
  const disk = watchedDisk(common, parts.disk, { metrics, logger });
  const { transportTo } = parts;
  // A stack in one process has no connections between components.
  const certificate =
    common.tlsFolder !== undefined && (transportTo === undefined || parts.grpc !== false)
      ? await openCertificate(common.tlsFolder, name, { logger, metrics })
      : undefined;
  const peers = await openPeers({ identity, environment, transportTo, certificate, tracer });
  const opened: { events?: EventBus; jobs?: RunningJobs } = {};
  const waiting = new WaitingAdmin(common, metrics);
  let ready = async () => waiting.ready();
  watchReadiness(metrics, () => ready());
  try {
    await waiting.open();
    const events = await (parts.connectEvents ?? connectNatsEvents)({
      service: name,
      url: common.natsUrl,
      tlsFolder: common.natsTlsFolder,
      streamReplicas: common.streamReplicas,
      storeLimitBytes: common.natsStoreBytes,
      ...{ logger, metrics, tracing },
      onUnreachable: (reason) => {
        if (opened.events === undefined) waiting.tell(reason);
      },
      onClosed: (error) => parts.onFatal?.(error),
    });
    opened.events = events;
    waiting.reached();
    const context: ServiceContext<Settings> = {
      name,
      settings,
      environment,
      database,
      events,
      client: (service) => peers.client(service),
      health: (callee) => peers.health(callee),
      identity,
      callerFor: (init) => identity.callerFor(init),
      logger,
      metrics,
      clock: parts.clock ?? systemClock,
      failpoint,
      traced: (name, traceparent, work, kind) => traceWork(tracing, name, traceparent, work, kind),
      recordCall: (name, durationMs, attributes) => tracing?.recordCall(name, durationMs, attributes),
      assertRoom: () => disk?.assertRoom(),
      wake: (job, inMs) => opened.jobs?.wake(job, inMs),
    };
    const built = await composition.build(context);
    environment.assertSound();
    const pace = metrics.watchPace(
      events.watchProgress?.(database) ?? (async () => ({ behindMs: 0, isGrowing: false })),
    );
    const server = rpcServer({
      ...{ handlers: [...built.handlers, healthHandlers(() => ready())], identity, tracer },
      observer: metrics.rpcObserver(logger),
      holdBack: (method, { from, scope }) => {
        if (!isNewWrite(method, from)) return undefined;
        disk?.assertRoom();
        return pace.admit(scope.accountId);
      },
      takeTurn: callTurns(),
      // Sets the mark by who called, so that a call waits alike in one process and over gRPC.
      around: (call, step) => (isOfClient(call) ? asCall(step) : asOwnWork(step)),
    });
    const jobs = prepareJobs([...(built.jobs ?? []), pruneJob(database)], { logger, observer: metrics.jobObserver });
    opened.jobs = jobs;
    wakeJobsOf(database, jobs);
    const running = new RunningService({
      migrations: composition.migrations,
      settings: common,
      grpc: parts.grpc ?? true,
      ...{ name, built, server, database, events, peers, jobs, metrics, logger, tracing, pace, disk, certificate },
      admin: await waiting.opened(),
    });
    ready = () => running.ready();
    return {
      ...{ name, handlers: built.handlers, server, identity, database, jobs, metrics, logger },
      start: (openMore) => running.start(openMore),
      ready: () => running.ready(),
      leave: () => running.leave(),
      stop: () => running.stop(),
    };
  } catch (error) {
    peers.close();
    await opened.events?.close();
    await waiting.opened().then(
      (admin) => admin?.stop(),
      () => undefined,
    );
    await database.close();
    await tracing?.stop();
    throw error;
  }
}

// No client waits for a call that a service makes in its own name, as far as the callee can tell.
function isOfClient({ from, caller: { issuer } }: Call): boolean {
  return issuer === 'gateway' || from === 'operator';
}

// What a partner asks for. A call from another service continues admitted work, and reads add no events.
function isNewWrite(method: DescMethod, from: string): boolean {
  return from === 'gateway' && method.idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

function watchedDisk(
  { diskFolder, diskLeastFreeBytes }: ServiceSettings,
  given: DiskWatch | undefined,
  { metrics, logger }: { metrics: Metrics; logger: Logger },
): DiskWatch | undefined {
  const onLost = (err: unknown) =>
    logger.warn({ err }, 'ELIGO_DISK_FOLDER cannot be read; new writes continue until the disk is full');
  const disk =
    given ??
    (diskFolder === undefined
      ? undefined
      : new DiskWatch({ folder: diskFolder, leastFreeBytes: diskLeastFreeBytes, onLost }));
  if (disk !== undefined)
    metrics.gauge('disk_free_bytes', 'Free bytes of the disk that ELIGO_DISK_FOLDER is on', () => disk.freeBytes);
  return disk;
}

function openOwnDatabase(
  name: string,
  settings: ServiceSettings,
  logger: Logger,
  tracing: Tracing | undefined,
): Database {
  return openDatabase({
    url: settings.databaseUrl,
    applicationName: `eligo ${name}`,
    schema: name,
    readsByKey: true,
    max: settings.databaseConnections,
    onStatement:
      tracing &&
      ((statement, durationMs) => tracing.recordCall(statement, durationMs, { 'db.system.name': 'postgresql' })),
    onLoginRefused: (refusal) =>
      logger.error({ ...refusal }, 'Postgres refused the login; check the role and its password'),
    onTlsFailed: ({ host, reason }) =>
      logger.error(
        { host, error: reason },
        'TLS handshake with Postgres failed; check the certificate, host name and sslrootcert',
      ),
    onError: (error, where) => logger.warn({ err: error }, `Database error: ${where}`),
  });
}

// Published events and ids of handled events are kept for weeks, not forever.
function pruneJob(database: Database): Job {
  return {
    name: 'prune_events',
    everyMs: 600_000,
    run: async () => (await pruneEvents(database, {}, pruneBatch)) >= pruneBatch,
  };
}

const pruneBatch = 5_000;
