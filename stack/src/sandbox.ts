import { join } from 'node:path';
import { freePort } from '@eligo/ports';
import { type Child, lastLogLines, startChild } from './children/child.ts';
import { type Supervised, supervise } from './children/supervise.ts';
import { becameHealthy } from './health.ts';
import { type Home, logFile, repositoryRoot } from './home.ts';
import { nodeChildArguments } from './node-child.ts';

/** The sandbox processor, in a process of its own: it must outlive the services whose witness it is. */
export interface SandboxProcess {
  readonly url: string;
  readonly key: string;
  readonly process: Supervised;
}

/** Starts the sandbox on a free port; started again after a death, it keeps port and records. */
export async function startSandboxProcess(
  home: Home,
  options: {
    key: string;
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
      args: nodeChildArguments(join(repositoryRoot, 'sandbox', 'src', 'main.ts'), ['collect-sandbox-garbage.ts']),
      environment: {
        ...process.env,
        HOST: '127.0.0.1',
        PORT: String(port),
        ELIGO_SANDBOX_HOME: home.sandbox,
        ELIGO_SANDBOX_KEY: options.key,
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
