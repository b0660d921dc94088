import { freePort } from '@eligo/ports';
import { programFile } from '@eligo/processes/programs';
import { type Child, lastLogLines, startChild } from './children/child.ts';
import { type Supervised, supervise } from './children/supervise.ts';
import { isOfTheSystem } from './component-variables.ts';
import { becameHealthy } from './health.ts';
import { type Home, logFile, repositoryRoot } from './home.ts';
import { nodeChildArguments } from './node-child.ts';

/** The sandbox processor, in a process of its own: it must outlive the services whose witness it is. */
export interface SandboxProcess {
  readonly url: string;
  readonly key: string;
  readonly process: Supervised;
}

/** Where the gateway at this address takes the sandbox's events. */
export function sandboxEventsUrl(gatewayUrl: string): string {
  return new URL('/processors/sandbox/events', gatewayUrl).href;
}

/** Starts the sandbox on a free port; started again after a death, it keeps port and records. */
export async function startSandboxProcess(
  home: Home,
  options: {
    key: string;
    /** Where its events go, and what signs them. */
    events: { readonly url: string; readonly secret: string };
    onTrouble: (text: string) => void;
    onRestarted: (child: Child) => void;
    longestRestartDelayMs?: number | undefined;
  },
): Promise<SandboxProcess> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const logPath = logFile(home, 'sandbox');
  const start = async () => {
    const child = await startChild({
      name: 'sandbox',
      command: process.execPath,
      args: nodeChildArguments(programFile(repositoryRoot, 'sandbox'), ['collect-sandbox-garbage.ts']),
      environment: {
        ...Object.fromEntries(Object.entries(process.env).filter(([name]) => isOfTheSystem(name))),
        ...(process.env.ELIGO_ENV ? { ELIGO_ENV: process.env.ELIGO_ENV } : {}),
        HOST: '127.0.0.1',
        PORT: String(port),
        ELIGO_SANDBOX_HOME: home.sandbox,
        ELIGO_SANDBOX_KEY: options.key,
        ELIGO_SANDBOX_EVENTS_URL: options.events.url,
        ELIGO_SANDBOX_EVENTS_SECRET: options.events.secret,
      },
      logPath,
      runFolder: home.run,
      channel: true,
    });
    await becameHealthy(child, `${url}/healthz`, () => lastLogLines(logPath));
    return child;
  };
  const supervised = await supervise(start, options);
  return { url, key: options.key, process: supervised };
}
