import { gatewayHost, gatewayUrl } from '@eligo/gateway/address';
import { programFile } from '@eligo/processes/programs';
import { beginsWhenTold } from '@eligo/service/begins-when-told';
import { type Child, lastLogLines, startChild } from './children/child.ts';
import { type Supervised, supervise } from './children/supervise.ts';
import { serviceNames } from './components.ts';
import type { Variables } from './environment.ts';
import { becameHealthy, reachesAll } from './health.ts';
import { type Home, logFile, repositoryRoot } from './home.ts';
import { nodeChildArguments } from './node-child.ts';
import type { Replica } from './replicas.ts';

/** One process and its variables. */
export interface PlacedReplica extends Replica {
  readonly variables: Variables;
}

/**
 * Starts each component, and each of its replicas, in a process of its own, all at once, and starts again whichever dies. They load their code and begin once the database is
 * `prepared`. Resolves when all are ready and the gateways reach every service.
 */
export async function startSplit(options: {
  home: Home;
  replicas: readonly PlacedReplica[];
  prepared: Promise<unknown>;
  onTrouble: (text: string) => void;
  onRestarted: (child: Child) => void;
  longestRestartDelayMs?: number | undefined;
  /** Hears of each process as soon as it has to be stopped. */
  onStarted: (replica: PlacedReplica, process: Supervised) => void;
}): Promise<void> {
  const gateways: { readonly replica: PlacedReplica; readonly process: Supervised }[] = [];
  const started = options.replicas.map(async (replica) => {
    const process = await supervise(startOnceArmed(options.home, replica, options.prepared), options);
    if (replica.component === 'gateway') gateways.push({ replica, process });
    options.onStarted(replica, process);
  });
  // All are waited for, so that after a failure nothing is still on its way up.
  await Promise.allSettled(started);
  await Promise.all(started);
  const reach = ({ replica: { name, variables }, process }: (typeof gateways)[number]) =>
    reachesAll(process.current(), readyUrl(variables), serviceNames, () => lastLogLines(logFile(options.home, name)));
  await Promise.all(gateways.map(reach));
}

// A failpoint armed by the environment would kill each successor as well.
function startOnceArmed(home: Home, replica: PlacedReplica, prepared: Promise<unknown>): () => Promise<Child> {
  let isFirst = true;
  return async () => {
    const { ELIGO_FAILPOINT, ...unarmed } = replica.variables;
    const variables = isFirst ? replica.variables : unarmed;
    isFirst = false;
    return await startReplica(home, { ...replica, variables }, prepared);
  };
}

async function startReplica(
  home: Home,
  { component, name, variables }: PlacedReplica,
  prepared: Promise<unknown>,
): Promise<Child> {
  const logPath = logFile(home, name);
  const child = await startChild({
    name,
    command: process.execPath,
    args: [...nodeChildArguments(programFile(repositoryRoot, component)), beginsWhenTold],
    environment: { ...variables },
    logPath,
    runFolder: home.run,
    channel: true,
  });
  await prepared.catch(async (error: unknown) => {
    await child.stop(0);
    throw error;
  });
  child.tell('begin');
  const lastWords = () => lastLogLines(logPath);
  await becameHealthy(child, readyUrl(variables), lastWords);
  // The gateway opens its public port last.
  if (component !== 'gateway') return child;
  const url = gatewayUrl(gatewayHost(variables), variables.PORT ?? '');
  await becameHealthy(child, `${url}/healthz`, lastWords);
  return child;
}

function readyUrl(variables: Variables): string {
  return `http://127.0.0.1:${variables.ADMIN_PORT}/readyz`;
}
