import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { repositoryRoot } from '@eligo/stack';

/**
 * Runs test files in their long form, each case with its own line; further arguments are vitest's. They are of this project unless others are
 * named. Resolves with the exit code.
 */
export function runLong(
  files: readonly string[],
  args: readonly string[],
  projects: readonly string[] = ['e2e'],
): Promise<number> {
  const vitest = join(repositoryRoot, 'node_modules', 'vitest', 'vitest.mjs');
  const child = spawn(
    process.execPath,
    // One file after the other: what is measured here is not how well two of them share the machine.
    [
      vitest,
      'run',
      ...projects.flatMap((project) => ['--project', project]),
      ...files,
      '--reporter=verbose',
      '--no-file-parallelism',
      ...args,
    ],
    { cwd: repositoryRoot, stdio: 'inherit', env: { ...process.env, ELIGO_TEST_LONG: 'on' } },
  );
  // vitest takes its global set-up down in order when it is asked to stop.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
