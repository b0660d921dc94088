import { join } from 'node:path';
import { gatewayHost, gatewayUrl } from '@eligo/gateway/address';
import { type Child, lastLogLines, startChild } from './children/child.ts';
import { type Supervised, supervise } from './children/supervise.ts';
import { type ComponentName, componentNames } from './components.ts';
import type { Variables } from './environment.ts';
import { becameHealthy } from './health.ts';
import { type Home, logFile, repositoryRoot } from './home.ts';
import { nodeChildArguments } from './node-child.ts';

/** Starts each component in a process of its own, all at once, and starts again whichever dies. */
export async function startSplit(options: {
  home: Home;
  variables: Readonly<Record<ComponentName, Variables>>;
  onTrouble: (text: string) => void;
  onRestarted: (child: Child) => void;
  longestRestartDelayMs?: number | undefined;
  /** Hears of each process as soon as it has to be stopped. */
  onStarted: (name: ComponentName, process: Supervised) => void;
}): Promise<void> {
  const started = componentNames.map(async (name) => {
    const supervised = await supervise(startOnceArmed(options.home, name, options.variables[name]), options);
    options.onStarted(name, supervised);
  });
  // All are waited for, so that after a failure nothing is still on its way up.
  await Promise.allSettled(started);
  await Promise.all(started);
}

// A failpoint armed by the environment would kill each successor as well.
function startOnceArmed(home: Home, name: ComponentName, variables: Variables): () => Promise<Child> {
  let isFirst = true;
  return async () => {
    const { ELIGO_FAILPOINT, ...unarmed } = variables;
    const environment = isFirst ? variables : unarmed;
    isFirst = false;
    return await startComponent(home, name, environment);
  };
}

async function startComponent(home: Home, name: ComponentName, variables: Variables): Promise<Child> {
  const folder = name === 'gateway' ? 'gateway' : join('services', name);
  const logPath = logFile(home, name);
  const child = await startChild({
    name,
    command: process.execPath,
    args: nodeChildArguments(join(repositoryRoot, folder, 'src', 'main.ts')),
    environment: { ...variables },
    logPath,
    runFolder: home.run,
    channel: true,
  });
  const lastWords = () => lastLogLines(logPath);
  await becameHealthy(child, `http://127.0.0.1:${variables.ADMIN_PORT}/readyz`, lastWords);
  // The gateway opens its public port last.
  if (name !== 'gateway') return child;
  const url = gatewayUrl(gatewayHost(variables), variables.PORT ?? '');
  await becameHealthy(child, `${url}/healthz`, lastWords);
  return child;
}
