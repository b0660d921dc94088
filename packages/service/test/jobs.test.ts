import { currentRequest } from '@eligo/rpc';
import { expect, test } from 'vitest';
import { createLogger, type Job, prepareJobs } from '../src/index.ts';
import { logLines } from './support.ts';

const log = logLines();
const logger = createLogger({ service: 'checkout', destination: log.destination });

test('a job runs again and again, never beside itself, each run under a request of its own', async () => {
  let running = 0;
  let most = 0;
  const requests = new Set<string>();
  const enough = Promise.withResolvers<void>();
  const jobs = prepare({
    everyMs: 1,
    async run() {
      running += 1;
      most = Math.max(most, running);
      requests.add(currentRequest()?.requestId ?? '');
      await new Promise((resolve) => setTimeout(resolve, 2));
      running -= 1;
      if (requests.size === 5) enough.resolve();
    },
  });
  jobs.start();
  await Promise.all([jobs.runOnce('sweep'), jobs.runOnce('sweep'), enough.promise]);
  await jobs.stop();
  expect(most).toBe(1);
  expect(requests.has('')).toBe(false);
});

test('a run that says there is more is followed at once, and a wake comes before its turn', async () => {
  let left = 3;
  const done = Promise.withResolvers<void>();
  const woken = Promise.withResolvers<void>();
  let runs = 0;
  const jobs = prepare({
    everyMs: 600_000,
    run: () => {
      runs += 1;
      left -= 1;
      if (left === 0) done.resolve();
      if (runs === 4) woken.resolve();
      return Promise.resolve(left > 0);
    },
  });
  jobs.start();
  jobs.wake('sweep');
  await done.promise;
  jobs.wake('sweep');
  await woken.promise;
  await jobs.stop();
  expect(runs).toBe(4);
});

test('a wake during a run is one more run after it, however many there were', async () => {
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const again = Promise.withResolvers<void>();
  let runs = 0;
  const jobs = prepare({
    everyMs: 600_000,
    async run() {
      runs += 1;
      if (runs === 2) again.resolve();
      begun.resolve();
      await release.promise;
    },
  });
  jobs.start();
  jobs.wake('sweep');
  await begun.promise;
  for (let at = 0; at < 50; at += 1) jobs.wake('sweep');
  release.resolve();
  await again.promise;
  await jobs.stop();
  expect(runs).toBe(2);
});

test('a run that fails is told, counted, and does not end the job', async () => {
  const counted: unknown[] = [];
  const done = Promise.withResolvers<void>();
  let runs = 0;
  const observer = { ran: (job: string, { ok }: { ok: boolean }) => counted.push([job, ok]) };
  const jobs = prepareJobs(
    [
      {
        name: 'sweep',
        everyMs: 1,
        async run() {
          runs += 1;
          if (runs === 1) throw new Error('the first run fails');
          done.resolve();
        },
      },
    ],
    { logger, observer },
  );
  jobs.start();
  await done.promise;
  await jobs.stop();
  expect(counted.slice(0, 2)).toEqual([
    ['sweep', false],
    ['sweep', true],
  ]);
  expect(log.lines()).toContainEqual(expect.objectContaining({ msg: 'a job failed', job: 'sweep' }));
});

test('stopping aborts the signal, waits for the run under way, and starts no other', async () => {
  const begun = Promise.withResolvers<void>();
  let ended = false;
  let runs = 0;
  const jobs = prepare({
    everyMs: 1,
    async run(signal) {
      runs += 1;
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      ended = true;
      return true;
    },
  });
  jobs.start();
  jobs.wake('sweep');
  await begun.promise;
  await jobs.stop();
  expect({ ended, runs }).toEqual({ ended: true, runs: 1 });
});

test('a job runs once when it is asked to, and its error reaches who asked', async () => {
  const jobs = prepare({ everyMs: 1, run: () => Promise.reject(new Error('no')) });
  await expect(jobs.runOnce('sweep')).rejects.toThrow('no');
  expect(() => jobs.runOnce('other')).toThrow('there is no job other');
});

function prepare(job: Omit<Job, 'name'>) {
  return prepareJobs([{ name: 'sweep', ...job }], { logger });
}
