import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processIdentity } from '@eligo/processes/processes';
import { waitUntil } from '@eligo/testkit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startChild } from '../src/children/child.ts';
import { recordProcess, recoverOrphans, usualSignals } from '../src/children/record.ts';
import { supervise } from '../src/children/supervise.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eligo-record-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function sleeper(name: string) {
  return startChild({
    name,
    command: 'sleep',
    args: ['600'],
    environment: process.env,
    logPath: join(folder, 'log'),
    runFolder: folder,
  });
}

it('stops what an earlier run left, by name, and forgets it', async () => {
  const left = spawn('sleep', ['600']);
  await once(left, 'spawn');
  recordProcess(folder, 'left', left.pid ?? 0, usualSignals);
  const ended = once(left, 'exit');
  await expect(recoverOrphans(folder)).resolves.toEqual(['left']);
  expect((await ended)[1]).toBe('SIGTERM');
  await expect(recoverOrphans(folder)).resolves.toEqual([]);
});

it('leaves a stranger alone who has the pid of what an earlier run left', async () => {
  const stranger = spawn('sleep', ['600']);
  await once(stranger, 'spawn');
  const record = { name: 'left', pid: stranger.pid, identity: 'another boot:12345', ...usualSignals };
  writeFileSync(join(folder, 'left.json'), JSON.stringify(record));
  await expect(recoverOrphans(folder)).resolves.toEqual([]);
  expect(processIdentity(stranger.pid ?? 0)).toBeDefined();
  stranger.kill();
});

it('makes a process stop that does not listen', async () => {
  const deaf = join(folder, 'deaf');
  const stubborn = await startChild({
    name: 'stubborn',
    command: 'sh',
    args: ['-c', 'trap "" TERM; touch "$0"; while :; do sleep 0.05; done', deaf],
    environment: process.env,
    logPath: join(folder, 'log'),
    runFolder: folder,
  });
  await waitUntil(() => existsSync(deaf), { withinMs: 10_000, what: 'the trap' });
  await stubborn.stop(50);
  expect(stubborn.hasEnded()).toBe(true);
  await expect(stubborn.ended).resolves.toBe('SIGKILL');
});

it('starts a process again that died, and records the new one', async () => {
  const restarted = Promise.withResolvers<number>();
  const troubles: string[] = [];
  const supervised = await supervise(() => sleeper('again'), {
    onRestarted: (child) => restarted.resolve(child.pid),
    onTrouble: (text) => troubles.push(text),
  });
  const first = supervised.current().pid;
  supervised.kill('SIGKILL');
  const second = await restarted.promise;
  expect(second).not.toBe(first);
  expect(troubles).toEqual(['again exited (SIGKILL); restarting it in 100 ms']);
  expect(readdirSync(folder)).toContain('again.json');
  await supervised.stop(1_000);
  expect(readdirSync(folder)).not.toContain('again.json');
});

it('stops a started process that it cannot record', async () => {
  const mark = `600.${process.pid}`;
  const start = startChild({
    name: 'unrecorded',
    command: 'sleep',
    args: [mark],
    environment: process.env,
    logPath: join(folder, 'log'),
    runFolder: join(folder, 'does-not-exist'),
  });
  await expect(start).rejects.toThrow('ENOENT');
  const running = execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' }).split('\n');
  expect(running.filter((line) => line.startsWith(`sleep ${mark}`))).toEqual([]);
});

it('reports a failure to tell of a restart, and keeps supervising', async () => {
  const troubles: string[] = [];
  const supervised = await supervise(() => sleeper('again'), {
    onRestarted: () => {
      throw new Error('ENOSPC: no space left on device, write');
    },
    onTrouble: (text) => troubles.push(text),
  });
  for (const restarts of [1, 2]) {
    supervised.kill('SIGKILL');
    await waitUntil(() => supervised.restarts() === restarts, { withinMs: 10_000, what: 'a restart' });
  }
  const failure = 'again was restarted, but what depends on it was not told: ENOSPC: no space left on device, write';
  expect(troubles.filter((text) => text === failure)).toHaveLength(2);
  await supervised.stop(1_000);
});

it('says so when a program cannot be started at all', async () => {
  const start = startChild({
    name: 'nothing',
    command: join(folder, 'does-not-exist'),
    args: [],
    environment: process.env,
    logPath: join(folder, 'log'),
    runFolder: folder,
  });
  await expect(start).rejects.toThrow('Failed to start nothing');
});
