import { currentRequest } from '@eligo/rpc';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { AccountTurns, createLogger, type Job, PartlyFailed, prepareJobs, type Turn } from '../src/index.ts';
import { logLines } from './support.ts';

const log = logLines();
const logger = createLogger({ service: 'checkout', destination: log.destination });

afterEach(() => {
  vi.useRealTimers();
});

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

test('a run that knows when the next piece of work is due is followed by one at that time, and else by one after its longest pause', async () => {
  const { runs, after } = runsOnFakeTime([{ dueInMs: 5_000 }, undefined, { dueInMs: 90_000 }, { dueInMs: undefined }]);
  await after(1_000);
  expect(runs()).toBe(1);
  await after(4_000);
  expect(runs(), 'the next is due 5 s after the first').toBeLessThanOrEqual(2);
  await after(1_000);
  expect(runs()).toBe(2);
  await after(60_000);
  expect(runs(), 'nothing is known to be due: the longest pause').toBe(3);
  await after(60_000);
  expect(runs(), 'what is due after the longest pause does not lengthen it').toBe(4);
});

test('work that falls due without end is taken once a second', async () => {
  const { runs, after } = runsOnFakeTime(Array.from({ length: 1_000 }, () => ({ dueInMs: -3 })));
  await after(1_000);
  const first = runs();
  await after(10_000);
  expect(runs() - first).toBe(10);
});

test('a wake for later runs the job by then, the earliest of several counts, and none of them puts a run off', async () => {
  const { jobs, runs, after } = runsOnFakeTime([]);
  await after(1_000);
  jobs.wake('sweep', 20_000);
  jobs.wake('sweep', 5_000);
  jobs.wake('sweep', 30_000);
  await after(4_999);
  expect(runs()).toBe(1);
  await after(1);
  expect(runs()).toBe(2);
  jobs.wake('sweep', 600_000);
  await after(60_000);
  expect(runs()).toBe(3);
});

test('a wake for later that comes during a run is kept', async () => {
  vi.useFakeTimers();
  let runs = 0;
  const jobs = prepare({
    everyMs: 60_000,
    async run() {
      runs += 1;
      if (runs === 1) jobs.wake('sweep', 5_000);
    },
  });
  jobs.start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(runs).toBe(2);
  await jobs.stop();
});

test('a job that runs once a minute is repeated within 15 seconds of a failed run', async () => {
  vi.useFakeTimers();
  const startedAt: number[] = [];
  const jobs = prepare({
    everyMs: 60_000,
    async run() {
      startedAt.push(Date.now());
      if (startedAt.length === 1) throw new Error('the first run fails');
    },
  });
  jobs.start();
  await vi.advanceTimersByTimeAsync(100_000);
  await jobs.stop();
  const [first, second, third] = startedAt as [number, number, number];
  expect(second - first).toBe(15_000);
  expect(third - second).toBe(60_000);
});

test('a failed run is logged and counted, and does not end the job', async () => {
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
  expect(log.lines()).toContainEqual(expect.objectContaining({ msg: 'Job failed', job: 'sweep' }));
});

test('stopping aborts the signal, waits for the current run, and starts no other', async () => {
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
  expect(() => jobs.runOnce('other')).toThrow('No job is named other');
});

test('a run in which some work failed counts as failed, and the next one follows as it says', async () => {
  const ran: boolean[] = [];
  const jobs = prepareJobs([{ name: 'sweep', everyMs: 1, run: () => Promise.resolve(new PartlyFailed(true)) }], {
    logger,
    observer: { ran: (_job, { ok }) => ran.push(ok) },
  });
  expect([await jobs.runOnce('sweep'), ran]).toEqual([true, [false]]);
});

const accounts = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ accountId: `facct_${at + 1}`, testMode: true }));

test('accounts take their turns so many at a time: one that waits or fails keeps no other one waiting', async () => {
  const release = Promise.withResolvers<boolean>();
  const others = Promise.withResolvers<void>();
  const had: string[] = [];
  const failures: unknown[] = [];
  const turns = new AccountTurns(
    () => Promise.resolve({ due: accounts(4), last: undefined }),
    ({ accountId }, { accountsAtOnce }) => {
      had.push(`${accountId} of ${accountsAtOnce}`);
      if (accountId === 'facct_1') return release.promise;
      if (accountId === 'facct_2') return Promise.reject(new Error('no'));
      if (accountId === 'facct_4') others.resolve();
      return Promise.resolve(false);
    },
    () => Promise.resolve(5_000),
    { atOnce: 2 },
  );
  const run = turns.run(new AbortController().signal, (error) => failures.push(error));
  await others.promise;
  expect(had).toEqual(['facct_1 of 2', 'facct_2 of 2', 'facct_3 of 2', 'facct_4 of 2']);
  release.resolve(true);
  expect([await run, failures]).toEqual([true, [new Error('no')]]);
});

test('an account whose turn failed waits ten seconds, and no other account waits for it', async () => {
  const had: string[] = [];
  let pages = 3;
  const turns = new AccountTurns(
    () => Promise.resolve({ due: accounts(2), last: undefined }),
    async ({ accountId }) => {
      had.push(accountId);
      if (accountId === 'facct_1') throw new Error('no');
      return --pages > 0;
    },
    () => Promise.resolve(-5_000),
  );
  const run = () => turns.run(new AbortController().signal, () => undefined);
  expect([await run(), await run(), await run()]).toEqual([true, true, { dueInMs: 10_000 }]);
  expect(had).toEqual(['facct_1', 'facct_2', 'facct_2', 'facct_2']);
  // The pause is over.
  await run();
  expect(had.slice(4)).toEqual(['facct_1', 'facct_2']);
});

test('an account whose turn failed has its next one after ten seconds, although another one always has more to do', async () => {
  const had: string[] = [];
  const turns = new AccountTurns(
    () => Promise.resolve({ due: accounts(2), last: undefined }),
    async ({ accountId }) => {
      had.push(accountId);
      if (accountId === 'facct_1') throw new Error('no');
      return true;
    },
    () => Promise.resolve(undefined),
  );
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
  onTestFinished(() => now.mockRestore());
  for (const ms of [1_000, 10_999, 11_000]) {
    now.mockReturnValue(ms);
    await turns.run(new AbortController().signal, () => undefined);
  }
  expect(had).toEqual(['facct_1', 'facct_2', 'facct_2', 'facct_1', 'facct_2']);
});

test('accounts that fail on two pages have one turn each before the pause', async () => {
  const [first, second] = accounts(2);
  const had: string[] = [];
  const turns = new AccountTurns(
    async ({ accountId }) =>
      accountId === '' && first !== undefined && second !== undefined
        ? { due: [first], last: first }
        : { due: second === undefined ? [] : [second], last: undefined },
    async ({ accountId }) => {
      had.push(accountId);
      throw new Error('no');
    },
    () => Promise.resolve(-5_000),
  );
  const run = () => turns.run(new AbortController().signal, () => undefined);
  expect([await run(), await run(), had]).toEqual([true, { dueInMs: 10_000 }, ['facct_1', 'facct_2']]);
});

test('an account that may have more is followed by another run, and a stop lets no other account begin', async () => {
  const stop = new AbortController();
  const had: Turn[] = [];
  const turns = new AccountTurns(
    () => Promise.resolve({ due: accounts(3), last: undefined }),
    async (_, turn) => had.push(turn) === 1,
    () => Promise.resolve(5_000),
    { atOnce: 1 },
  );
  const run = () => turns.run(stop.signal, () => undefined);
  expect([await run(), await run()]).toEqual([true, { dueInMs: 5_000 }]);
  const last = new AccountTurns(
    () => Promise.resolve({ due: accounts(3), last: undefined }),
    async (_, { signal }) => {
      stop.abort();
      return signal.aborted && had.push({ signal, accountsAtOnce: 1 }) > 0;
    },
    () => Promise.resolve(undefined),
  );
  await last.run(stop.signal, () => undefined);
  expect(had).toHaveLength(7);
});

function prepare(job: Omit<Job, 'name'>) {
  return prepareJobs([{ name: 'sweep', ...job }], { logger });
}

/** A job with a longest pause of a minute whose runs answer one after the other what is given, started on a time that stands still. */
function runsOnFakeTime(answers: readonly unknown[]) {
  vi.useFakeTimers();
  let runs = 0;
  const jobs = prepare({ everyMs: 60_000, run: () => Promise.resolve(answers[runs++]) });
  jobs.start();
  return { jobs, runs: () => runs, after: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}
