import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { commandOf, isAlive, parentOf, processIdentity } from '../src/processes.mjs';

const parents = new URL('../src/parents.mjs', import.meta.url).href;

async function identityOf(child: ChildProcess): Promise<{ pid: number; identity: string }> {
  await once(child, 'spawn');
  const { pid = 0 } = child;
  const identity = processIdentity(pid);
  if (identity === undefined) throw new Error('a process that was just started is gone');
  return { pid, identity };
}

it('knows a process by pid and start time, and takes a killed one for gone', async () => {
  const child = spawn('sleep', ['60']);
  const { pid, identity } = await identityOf(child);
  expect(parentOf(pid)).toBe(process.pid);
  expect(isAlive(pid, identity)).toBe(true);
  expect(isAlive(pid, `${identity}0`)).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isAlive(pid, identity)).toBe(false);
  expect(commandOf(pid)).toBeUndefined();
});

it('tells a process that one above it was killed', async () => {
  const above = spawn('sleep', ['60']);
  const { pid, identity } = await identityOf(above);
  const watcher = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { watchParents } from ${JSON.stringify(parents)};
       setInterval(() => undefined, 1000);
       watchParents(() => process.exit(7), 20);
       process.stdout.write('watching');`,
    ],
    { env: { ...process.env, ELIGO_PARENTS: `${pid}@${identity}` }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await once(watcher.stdout, 'data');
  above.kill('SIGKILL');
  expect((await once(watcher, 'exit'))[0]).toBe(7);
});
