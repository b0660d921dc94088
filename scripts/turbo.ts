import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { watchParents } from '@eligo/processes/parents';

/** The repository's root folder. */
export const root = join(import.meta.dirname, '..');

/** Every check of `npm run check`: root tasks of turbo.json, each a script of package.json. */
export const checks = [
  'check:types',
  'check:style',
  'check:layers',
  'check:text',
  'check:proto',
  'check:trace',
  'check:lock',
];

/**
 * Runs turbo tasks, all of them even when one fails, and resolves with the exit code. Turbo drops undeclared variables
 * (strict mode); what a task may see stands in turbo.json.
 */
export function runTurbo(
  tasks: string[],
  options: { environment?: NodeJS.ProcessEnv; rest?: string[] } = {},
): Promise<number> {
  // One task's words as they come; several tasks' words one after the other.
  const order = tasks.length === 1 ? 'stream' : 'grouped';
  const args = ['run', ...tasks, '--continue', '--output-logs=new-only', `--log-order=${order}`, '--log-prefix=none'];
  return new Promise((resolve, reject) => {
    // A session of its own: what turbo starts is told to stop as one group.
    const child = spawn(
      join(root, 'node_modules', '.bin', 'turbo'),
      [...args, ...(options.rest ? ['--', ...options.rest] : [])],
      {
        cwd: root,
        stdio: 'inherit',
        detached: true,
        env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', ...options.environment },
      },
    );
    const stop = () => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
    const stopWatching = watchParents(stop);
    child.once('error', reject);
    child.once('exit', (code) => {
      stopWatching();
      resolve(code ?? 1);
    });
  });
}
