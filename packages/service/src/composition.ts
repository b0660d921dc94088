import type { DescService } from '@bufbuild/protobuf';
import type { ConsumerDefinition } from '@eligo/events';
import type { Database, MigrationSource } from '@eligo/postgres';
import type { HealthService } from '@eligo/proto/health/v1/health';
import type { CallerInit, Client, Handlers, Identity } from '@eligo/rpc';
import type { Clock } from '@eligo/values';
import type { EnvironmentReader } from './environment.ts';
import type { EventBus } from './event-bus.ts';
import type { failpoint } from './failpoints.ts';
import type { ReadinessChecks } from './health.ts';
import type { Job } from './jobs.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { WorkKind } from './trace-work.ts';

/** What a service is made of, before it runs; exported by its `service.ts`. `Settings` is what its own `config.ts` reads. */
export interface ServiceComposition<Settings = undefined> {
  /** The component's name: its schema, its role, its place in credentials and policies. */
  readonly name: string;
  readonly migrations: readonly MigrationSource[];
  /** Reads the service's own variables; those that every service has are read anyway. */
  readonly settings?: (env: EnvironmentReader) => Settings;
  build(context: ServiceContext<Settings>): Promise<BuiltService> | BuiltService;
}

/** What a service is given to build itself from. */
export interface ServiceContext<Settings = undefined> {
  readonly name: string;
  readonly settings: Settings;
  /** For a variable that only matters while building; what is missing is reported after `build`. */
  readonly environment: EnvironmentReader;
  readonly database: Database;
  readonly events: EventBus;
  /** A typed client of a peer, called as this service; one per service, made on first use. */
  client<Service extends DescService>(service: Service): Client<Service>;
  /** Asks a peer what its `/readyz` says. */
  health(callee: string): Client<typeof HealthService>;
  readonly identity: Identity;
  /** A caller context for work of this service's own: `catalog.getPrice(request, { caller: context.callerFor(scope) })`. */
  callerFor(init: CallerInit): ReturnType<Identity['callerFor']>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly failpoint: typeof failpoint;
  /** Runs work that no call asked for (a delivery, a charge in doubt) in a span that continues `traceparent`; just runs it when traces are off. */
  traced<Result>(
    name: string,
    traceparent: string | undefined,
    work: () => Promise<Result>,
    kind?: WorkKind,
  ): Promise<Result>;
  /** Throws `service_unavailable` while the disk is nearly full; for new writes that are no calls of this service's methods. */
  assertRoom(): void;
  /** Adds a call out that has just ended to the trace of the current work; nothing when traces are off. */
  recordCall(name: string, durationMs: number, attributes: Readonly<Record<string, string>>): void;
  /** Runs a job of this service now, or in `inMs` at the latest, rather than at its next turn. A transaction calls `wakeJobAfterCommit`. */
  wake(job: string, inMs?: number): void;
}

/** A service that was built: what it serves and what it does by itself. Nothing of it runs yet. */
export interface BuiltService {
  readonly handlers: Handlers;
  readonly consumers?: readonly ConsumerDefinition[] | undefined;
  readonly jobs?: readonly Job[] | undefined;
  /** What it needs beside its database and the event bus in order to be ready. */
  readonly ready?: ReadinessChecks | undefined;
  /** What it is degraded without. */
  readonly wanted?: ReadinessChecks | undefined;
  /** Called once, after the last call, job and event, before connections are closed. */
  stop?(): Promise<void>;
}
