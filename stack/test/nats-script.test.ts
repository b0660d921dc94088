import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@eligo/ports';
import { waitUntil } from '@eligo/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { makeHome, repositoryRoot } from '../src/home.ts';
import { findNatsServer } from '../src/nats/find-server.ts';
import { readCompose } from './support/compose.ts';

const script = join(repositoryRoot, 'deploy', 'nats.sh');

interface Script {
  readonly child: ChildProcess;
  /** The container's health check. */
  readonly check: () => boolean;
  /** The server below it. */
  readonly serverPid: () => number;
  readonly configuration: string;
  readonly store: string;
  /** What the server says of itself. */
  readonly state: () => Promise<ServerState>;
}

interface ServerState {
  readonly http_req_stats: Readonly<Record<string, number>>;
  readonly max_connections: number;
}

/** The script of the NATS container with a real server. It looks at the server so often. */
async function startScript(watchSeconds: string): Promise<Script> {
  const folder = await mkdtemp(join(tmpdir(), 'eligo-nats-script-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const home = makeHome(folder);
  symlinkSync(await findNatsServer(home.bin, () => undefined), join(folder, 'nats-server'));
  if (spawnSync('wget', ['--version']).status !== 0) writeFileSync(join(folder, 'wget'), standIn, { mode: 0o700 });
  const [port, monitor] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')];
  const configuration = join(folder, 'nats.conf');
  const store = join(folder, 'store');
  writeFileSync(
    configuration,
    `listen: "127.0.0.1:${port}"\nhttp: "127.0.0.1:${monitor}"\njetstream { store_dir: "${store}" }\n`,
  );
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    NATS_MONITOR: `http://127.0.0.1:${monitor}`,
    NATS_WATCH_SECONDS: watchSeconds,
  };
  const child = spawn('sh', [script, '--config', configuration], { env, stdio: 'ignore', detached: true });
  const check = () => spawnSync('sh', [script, 'check'], { env }).status === 0;
  const serverPid = () => {
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .map(Number);
    const server = children.find((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'nats-server');
    return server ?? expect.fail('no server below the script');
  };
  onTestFinished(async () => {
    const ended = child.exitCode === null ? once(child, 'exit') : undefined;
    try {
      // With the pause of its watch.
      process.kill(-Number(child.pid), 'SIGKILL');
    } catch (error) {
      expect(error).toMatchObject({ code: 'ESRCH' });
    }
    await ended;
  });
  await waitUntil(check, { what: 'a server that is healthy', withinMs: 30_000 });
  const state = async () => (await (await fetch(`http://127.0.0.1:${monitor}/varz`)).json()) as ServerState;
  return { child, check, serverPid, configuration, store, state };
}

// For a machine without wget, which the image has.
const standIn = `#!${process.execPath}
const answer = await fetch(process.argv.at(-1), { signal: AbortSignal.timeout(2_000) });
process.exitCode = answer.ok ? 0 : 8;
if (process.argv[process.argv.indexOf('-O') + 1] === '-') console.log(await answer.text());
`;

test('the NATS container exits when its server stops working, so that its policy restarts it [D14.352]', async () => {
  const { child, check, serverPid, state } = await startScript('0.2');
  // One was the check's; the script kills only a server that it has seen work.
  const looks = async () => (await state()).http_req_stats['/jsz'] ?? 0;
  await waitUntil(async () => (await looks()) >= 3, { what: 'the looks of the script' });
  // As a server whose JetStream hangs: it takes no SIGTERM either.
  process.kill(serverPid(), 'SIGSTOP');
  expect(check()).toBe(false);
  const [code] = await once(child, 'exit');
  expect(code).toBe(137);
});

test('the NATS container exits when the folder of its streams is gone, which its server does not notice [D14.352]', async () => {
  const { child, check, state, store } = await startScript('0.2');
  const looks = async () => (await state()).http_req_stats['/jsz'] ?? 0;
  await waitUntil(async () => (await looks()) >= 3, { what: 'the looks of the script' });
  const exited = once(child, 'exit');
  await rm(store, { recursive: true });
  expect(check()).toBe(false);
  expect(await exited).toEqual([137, null]);
});

test.each([
  ['the script is asked to stop, as Docker asks it', ({ child }: Script) => child.kill('SIGTERM'), expect.any(Number)],
  ['its server ends', ({ serverPid }: Script) => process.kill(serverPid(), 'SIGKILL'), 137],
])('the NATS container exits as soon as %s, and not at its next look [D14.352]', async (_, end, code) => {
  const script = await startScript('600');
  const exited = once(script.child, 'exit');
  end(script);
  expect(await exited).toEqual([code, null]);
});

test('the NATS server reads its configuration again when its container gets SIGHUP', async () => {
  const { child, configuration, state } = await startScript('600');
  appendFileSync(configuration, 'max_connections: 123\n');
  child.kill('SIGHUP');
  await waitUntil(async () => (await state()).max_connections === 123, { what: 'the new configuration' });
});

test('the compose file starts NATS by the script, which is its health check too', () => {
  const { entrypoint, healthcheck, restart, volumes } = readCompose().services.nats ?? {};
  expect({ entrypoint, restart }).toEqual({ entrypoint: ['sh', '/etc/eligo/nats.sh'], restart: 'unless-stopped' });
  expect(healthcheck?.test).toEqual(['CMD', 'sh', '/etc/eligo/nats.sh', 'check']);
  expect(volumes).toContain('./deploy/nats.sh:/etc/eligo/nats.sh:ro');
});
