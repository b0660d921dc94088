import { inProcessTransport, type RpcServer } from '@eligo/rpc';
import { createLogger, type TransportTo } from '@eligo/service';
import { type ComponentName, serviceNames } from './components.ts';
import { loadCompositions, type OpenComponent } from './compositions.ts';
import type { Variables } from './environment.ts';

/** Where the components' log lines go. */
export interface LogDestination {
  write(line: string): void;
}

/**
 * Builds and starts the services and the gateway in this process, those that others call first. Calls between them are
 * handed over in memory; with `encode` every message is encoded and decoded on the way, as tests want it.
 */
export async function startAllInOne(options: {
  variables: Readonly<Record<ComponentName, Variables>>;
  destination: LogDestination;
  encode: boolean;
  onFatal: (error: unknown) => void;
  /** Hears of each component as soon as it has to be stopped. */
  onStarted: (name: ComponentName, component: OpenComponent) => void;
  signal: AbortSignal;
}): Promise<void> {
  const compositions = await loadCompositions();
  const servers = new Map<string, RpcServer>();
  const transportTo: TransportTo = (callee) => {
    const server = servers.get(callee);
    if (!server) throw new Error(`Component ${callee} is not started yet; calls go down only`);
    return inProcessTransport(server, { encode: options.encode });
  };
  for (const name of [...serviceNames, 'gateway'] as const) {
    options.signal.throwIfAborted();
    const environment = options.variables[name];
    const component = await compositions.open(name, {
      environment,
      transportTo,
      logger: createLogger({ service: name, level: environment.LOG_LEVEL, destination: options.destination }),
      onFatal: options.onFatal,
    });
    servers.set(name, component.server);
    options.onStarted(name, component);
  }
}
