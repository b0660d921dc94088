import { inProcessTransport, type RpcServer } from '@eligo/rpc';
import { createLogger, type Logger, logLevels, type Service, type TransportTo } from '@eligo/service';
import { type ComponentName, serviceNames } from './components.ts';
import type { Compositions } from './compositions.ts';
import type { Variables } from './environment.ts';

/** A component that runs in this process. */
export interface RunningComponent {
  readonly name: ComponentName;
  readonly adminPort: number;
  readonly service: Service;
}

/** Where the components' log lines go. */
export interface LogDestination {
  write(line: string): void;
}

/**
 * Builds and starts the services and the gateway in this process, those that others call first. Calls between them are
 * handed over in memory; with `encode` every message is encoded and decoded on the way, as tests want it.
 */
export async function startAllInOne(options: {
  compositions: Compositions;
  variables: Readonly<Record<ComponentName, Variables>>;
  destination: LogDestination;
  encode: boolean;
  onFatal: (error: unknown) => void;
  /** Hears of each component as soon as it has to be stopped. */
  onStarted: (component: RunningComponent) => void;
  signal: AbortSignal;
}): Promise<void> {
  const servers = new Map<string, RpcServer>();
  const transportTo: TransportTo = (callee) => {
    const server = servers.get(callee);
    if (!server) throw new Error(`calls go down only: ${callee} is not there yet`);
    return inProcessTransport(server, { encode: options.encode });
  };
  for (const name of [...serviceNames, 'gateway'] as const) {
    options.signal.throwIfAborted();
    const environment = options.variables[name];
    const service = await options.compositions.build(name, {
      environment,
      transportTo,
      grpc: false,
      logger: loggerOf(name, environment, options.destination),
      onFatal: options.onFatal,
    });
    servers.set(name, service.server);
    const ports = await startOrStop(service);
    options.onStarted({ name, adminPort: ports.adminPort, service });
  }
}

async function startOrStop(service: Service) {
  try {
    return await service.start();
  } catch (error) {
    await service.stop();
    throw error;
  }
}

function loggerOf(name: string, environment: Variables, destination: LogDestination): Logger {
  const level = logLevels.find((one) => one === environment.LOG_LEVEL);
  return createLogger({ service: name, level, destination });
}
