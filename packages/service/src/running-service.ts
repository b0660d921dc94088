import { setTimeout as pause } from 'node:timers/promises';
import type { GrpcListener } from '@eligo/rpc/grpc';
import { within } from '@eligo/values';
import { type AdminServer, startAdminServer } from './admin-server.ts';
import type { ServiceAssembly } from './assembly.ts';
import type { Stoppable } from './event-bus.ts';
import { checkReadiness, type Readiness, type ReadinessChecks } from './health.ts';
import { migrationsCurrent } from './migrations-current.ts';
import { operatorGate } from './operator-gate.ts';
import { version } from './version.ts';

/** The ports that a service listens on; no gRPC port when it is reached in process. */
export interface ServicePorts {
  readonly adminPort: number;
  readonly grpcPort: number | undefined;
}

/** Calls, events and runs in flight get this long to end: nearly as long as a call may take, within an orchestrator's patience of 30 s. */
const inFlightWaitMs = 25_000;
const closeWaitMs = 3_000;

/** A service's running parts, started together and stopped in order. */
export class RunningService {
  readonly #assembly: ServiceAssembly;
  readonly #checks: ReadinessChecks;
  readonly #wanted: ReadinessChecks;
  readonly #eventWork: Stoppable[] = [];
  #admin: AdminServer | undefined;
  #grpc: GrpcListener | undefined;
  #leaving: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(assembly: ServiceAssembly) {
    this.#assembly = assembly;
    this.#admin = assembly.admin;
    const { database, events, migrations, built, disk } = assembly;
    this.#checks = {
      postgres: () => database.ping(),
      migrations: migrationsCurrent(database, migrations),
      ...built.ready,
    };
    // The outbox keeps events for as long as the bus is away, so payments go on.
    this.#wanted = {
      ...built.wanted,
      nats: () => events.check(database),
      ...(disk === undefined ? {} : { disk: () => disk.check() }),
    };
  }

  /** Starts all parts; `openMore` opens what else is to be reachable before the log says that the component has started. */
  async start(openMore?: () => Promise<object>): Promise<ServicePorts> {
    const { settings, server, metrics, database, events, built, jobs, logger, name } = this.#assembly;
    const { host, adminPort, adminNames: names, grpcPort, failpoints } = settings;
    const ready = () => this.ready();
    const operators = operatorGate(settings.operators, { database, logger, metrics });
    const pages = { ready, metrics, server, operators, failpoints };
    if (this.#admin === undefined) this.#admin = await startAdminServer({ host, port: adminPort, names }, pages);
    else this.#admin.show(pages);
    if (this.#assembly.grpc) {
      const { serveGrpc } = await import('@eligo/rpc/grpc');
      this.#grpc = await serveGrpc({ server, host, port: grpcPort, certificate: this.#assembly.certificate });
    }
    this.#eventWork.push(events.startRelay(database));
    for (const consumer of built.consumers ?? []) {
      this.#eventWork.push(events.startConsumer(database, consumer));
    }
    jobs.start();
    const ports = { adminPort: this.#admin.port, grpcPort: this.#grpc?.port };
    const more = await openMore?.();
    logger.info({ ...ports, ...more, service: name, version }, 'Started');
    return ports;
  }

  ready(): Promise<Readiness> {
    if (this.#leaving !== undefined)
      return Promise.resolve({ ready: false, status: 'unavailable', checks: { stopping: 'failed' } });
    return checkReadiness(this.#checks, this.#wanted);
  }

  leave(): Promise<void> {
    const { drainDelayMs } = this.#assembly.settings;
    this.#leaving ??= drainDelayMs === 0 ? Promise.resolve() : pause(drainDelayMs);
    return this.#leaving;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.leave().then(() => this.#stop());
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const { server, jobs, built, events, peers, database, tracing, logger, pace } = this.#assembly;
    logger.info({ inFlight: server.inFlight }, 'Stopping');
    pace.stop();
    this.#assembly.disk?.stop();
    // No new call, run or event; those in flight end by themselves, all within the same wait.
    await Promise.all([
      this.#stopCalls(),
      this.#step('jobs', inFlightWaitMs, () => jobs.stop()),
      ...this.#eventWork.map((work) => this.#step('events', inFlightWaitMs, () => work.stop())),
    ]);
    await this.#step('service', closeWaitMs, async () => built.stop?.());
    await this.#step('nats', closeWaitMs, () => events.close());
    peers.close();
    await this.#step('postgres', closeWaitMs, () => database.close());
    await this.#step('admin', closeWaitMs, async () => this.#admin?.stop());
    await this.#step('traces', closeWaitMs, async () => tracing?.stop());
    logger.info('Stopped');
  }

  // gRPC tells clients to use another connection before any call is refused: calls that they have sent are still answered.
  async #stopCalls(): Promise<void> {
    const grpc = this.#grpc;
    if (grpc !== undefined) await this.#step('grpc', inFlightWaitMs + closeWaitMs, () => grpc.stop(inFlightWaitMs));
    await this.#step('calls', grpc === undefined ? inFlightWaitMs : closeWaitMs, () => this.#assembly.server.drain());
  }

  // A step that fails or takes too long does not keep the next ones from running.
  async #step(step: string, waitMs: number, work: () => Promise<unknown>): Promise<void> {
    try {
      await within(waitMs, work);
    } catch (error) {
      this.#assembly.logger.error({ err: error, step }, 'Shutdown step failed');
    }
  }
}
