import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
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

/** The script of the NATS container with a real server: `check` is the container's health check, `serverPid` the server below it. */
async function startScript(): Promise<{ child: ChildProcess; check: () => boolean; serverPid: () => number }> {
  const folder = await mkdtemp(join(tmpdir(), 'eligo-nats-script-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const home = makeHome(folder);
  symlinkSync(await findNatsServer(home.bin, () => undefined), join(folder, 'nats-server'));
  if (spawnSync('wget', ['--version']).status !== 0) writeFileSync(join(folder, 'wget'), standIn, { mode: 0o700 });
  const [port, monitor] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')];
  const configuration = join(folder, 'nats.conf');
  writeFileSync(
    configuration,
    `listen: "127.0.0.1:${port}"\nhttp: "127.0.0.1:${monitor}"\njetstream { store_dir: "${join(folder, 'store')}" }\n`,
  );
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    NATS_MONITOR: `http://127.0.0.1:${monitor}`,
    NATS_WATCH_SECONDS: '0.2',
  };
  const child = spawn('sh', [script, '--config', configuration], { env, stdio: 'ignore' });
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
    if (child.exitCode !== null) return;
    process.kill(serverPid(), 'SIGKILL');
    await once(child, 'exit');
  });
  await waitUntil(check, { what: 'a server that is healthy', withinMs: 30_000 });
  // One request was the check's; the script kills only a server that it has seen work.
  const requests = async () => {
    const answer = await fetch(`http://127.0.0.1:${monitor}/varz`);
    return ((await answer.json()) as { http_req_stats: Record<string, number> }).http_req_stats['/jsz'] ?? 0;
  };
  await waitUntil(async () => (await requests()) >= 3, { what: 'the looks of the script' });
  return { child, check, serverPid };
}

// For a machine without wget, which the image has.
const standIn = `#!${process.execPath}
const answer = await fetch(process.argv.at(-1), { signal: AbortSignal.timeout(2_000) });
process.exitCode = answer.ok ? 0 : 8;
`;

test('the NATS container exits when its server stops working, so that its policy restarts it [D14.352]', async () => {
  const { child, check, serverPid } = await startScript();
  // As a server whose JetStream hangs: it takes no SIGTERM either.
  process.kill(serverPid(), 'SIGSTOP');
  expect(check()).toBe(false);
  const [code] = await once(child, 'exit');
  expect(code).toBe(137);
});

test('the NATS container stops by SIGTERM, as Docker stops it', async () => {
  const { child } = await startScript();
  child.kill('SIGTERM');
  const [code, signal] = await once(child, 'exit');
  expect([code, signal]).toEqual([expect.any(Number), null]);
});

test('the compose file starts NATS by the script, which is its health check too', () => {
  const { entrypoint, healthcheck, restart, volumes } = readCompose().services.nats ?? {};
  expect({ entrypoint, restart }).toEqual({ entrypoint: ['sh', '/etc/eligo/nats.sh'], restart: 'unless-stopped' });
  expect(healthcheck?.test).toEqual(['CMD', 'sh', '/etc/eligo/nats.sh', 'check']);
  expect(volumes).toContain('./deploy/nats.sh:/etc/eligo/nats.sh:ro');
});
