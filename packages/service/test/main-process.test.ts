import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import { beginsWhenTold } from '../src/begins-when-told.ts';
import { catalogEnvironment, serviceDatabase } from './support.ts';

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

test('SIGTERM stops in order and exits 0', async () => {
  const main = run('plain');
  await main.saw('Started');
  main.child.kill('SIGTERM');
  expect(await main.exit).toEqual({ code: 0, signal: null });
  expect(main.output()).toContain('Stopped');
});

test('a second signal does not wait', async () => {
  const main = run('hang');
  await main.saw('Started');
  main.child.kill('SIGINT');
  await main.saw('Stopped');
  main.child.kill('SIGINT');
  expect(await main.exit).toEqual({ code: 1, signal: null });
});

test.each(['throw', 'reject', 'refuse'])('an error that nobody caught (%s) is logged and exits 1', async (what) => {
  const main = run(what);
  expect(await main.exit).toEqual({ code: 1, signal: null });
  expect(main.output()).toContain('"level":"fatal"');
  expect(main.output()).toContain('Terminated by an uncaught error');
  expect(main.output()).not.toContain('Margarethe');
});

test('a process that begins when its parent says so has its code loaded until then, and can be stopped', async () => {
  const [told, stopped] = [run('plain', {}, beginsWhenTold), run('plain', {}, beginsWhenTold)];
  await stopped.saw('Loaded');
  stopped.child.kill('SIGTERM');
  expect(await stopped.exit).toEqual({ code: 0, signal: null });
  expect(stopped.output()).not.toContain('Started');
  await told.saw('Loaded');
  told.child.send('begin');
  await told.saw('Started');
});

test('a failpoint kills the process at its pass, without a word', async () => {
  const main = run('failpoint', { ELIGO_FAILPOINT: 'main.step:2' });
  expect(await main.exit).toEqual({ code: null, signal: 'SIGKILL' });
  expect(main.output().match(/pass \d/g)).toEqual(['pass 1', 'pass 2', 'pass 3']);
});

test('a service without its variables names them all and exits 1', async () => {
  const main = run('service', { LOG_LEVEL: 'loud' });
  expect(await main.exit).toEqual({ code: 1, signal: null });
  for (const name of ['CATALOG_DATABASE_URL', 'NATS_URL', 'ELIGO_SERVICE_KEY', 'LOG_LEVEL']) {
    expect(main.output()).toContain(name);
  }
});

test('a service with its variables runs, and ends with SIGTERM leaving nothing behind', async () => {
  const database = await serviceDatabase('catalog');
  const main = run('service', catalogEnvironment(database.url));
  await main.saw('"msg":"Started"');
  const port = /"adminPort":(\d+)/.exec(main.output())?.[1];
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  main.child.kill('SIGTERM');
  expect(await main.exit).toEqual({ code: 0, signal: null });
  expect(main.output()).toContain('"msg":"Stopped"');
  await database.drop();
});

test('a process goes on when the disk of its log is full [D14.137]', async () => {
  const full = await open('/dev/full', 'w');
  const file = new URL('./main-process.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [file, 'log'], {
    ...{ env: { PATH: process.env.PATH }, stdio: ['ignore', full.fd, full.fd] },
  });
  children.push(child);
  expect(await once(child, 'close')).toEqual([42, null]);
  await full.close();
});

function run(what: string, environment: Readonly<Record<string, string | undefined>> = {}, ...args: string[]) {
  const file = new URL('./main-process.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [file, what, ...args], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  children.push(child);
  let output = '';
  const changed = new EventTarget();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += String(chunk);
      changed.dispatchEvent(new Event('change'));
    });
  }
  const exit = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
  }));
  return {
    child,
    exit,
    output: () => output,
    async saw(text: string) {
      while (!output.includes(text)) await once(changed, 'change');
    },
  };
}
