import type { Database } from '@eligo/postgres';
import type { RpcServer } from '@eligo/rpc';
import type { WatchedCertificate } from '@eligo/rpc/grpc';
import type { AdminServer } from './admin-server.ts';
import type { BuiltService, ServiceComposition } from './composition.ts';
import type { DiskWatch } from './disk-watch.ts';
import type { EventBus } from './event-bus.ts';
import type { RunningJobs } from './jobs.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { Peers } from './peers.ts';
import type { ServiceSettings } from './service-settings.ts';
import type { Tracing } from './tracing.ts';
import type { WritePace } from './write-pace.ts';

/** Everything that a service consists of at run time. */
export interface ServiceAssembly {
  readonly name: string;
  readonly migrations: ServiceComposition['migrations'];
  readonly settings: ServiceSettings;
  readonly grpc: boolean;
  readonly built: BuiltService;
  readonly server: RpcServer;
  readonly database: Database;
  readonly events: EventBus;
  readonly peers: Peers;
  readonly jobs: RunningJobs;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly tracing: Tracing | undefined;
  readonly pace: WritePace;
  readonly disk: DiskWatch | undefined;
  readonly certificate: WatchedCertificate | undefined;
  /** The admin port, if it is open already. */
  readonly admin: AdminServer | undefined;
}
