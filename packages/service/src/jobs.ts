import { asOwnWork } from '@eligo/postgres';
import { newRequestId, withRequestContext } from '@eligo/rpc';
import type { Logger } from './logger.ts';
import { oneAtATime } from './one-at-a-time.ts';

/** Work that a service does by itself, again and again. */
export interface Job {
  readonly name: string;
  /** The longest pause between the end of one run and the start of the next. A job that is woken needs it only for what a crash has left. */
  readonly everyMs: number;
  /**
   * One run; it never overlaps with itself. Returning true says that there is more to do, and the next run starts at once. Returning
   * `{ dueInMs }` says when the next piece of work is due, and the next run starts then if that is before `everyMs`.
   */
  run(signal: AbortSignal): Promise<unknown>;
}

/** What a run says of the next piece of work; undefined when none is known. */
export interface NextRun {
  readonly dueInMs: number | undefined;
}

/** The answer of a run in which some work failed that the job logged and planned around: it counts as failed, and the next run follows as `next` says. */
export class PartlyFailed {
  readonly next: unknown;

  constructor(next: unknown) {
    this.next = next;
  }
}

/** Called with the result of each run. */
export interface JobObserver {
  ran(job: string, run: { ok: boolean; durationMs: number }): void;
}

export interface JobOptions {
  readonly logger: Logger;
  readonly observer?: JobObserver | undefined;
}

/** The jobs of a service, running. */
export interface RunningJobs {
  /** Runs a job now, or in `inMs` at the latest; during a run, after that run. Several wakes before a run are one run, at the earliest. */
  wake(name: string, inMs?: number): void;
  /** Runs a job once and waits for it, whether or not the jobs are started. Rejects with what the job throws. */
  runOnce(name: string): Promise<unknown>;
  start(): void;
  /** Starts no more runs, aborts their signal, and resolves when those in flight have ended. */
  stop(): Promise<void>;
}

/** Prepares the jobs of a service; nothing runs before `start`. */
export function prepareJobs(jobs: readonly Job[], options: JobOptions): RunningJobs {
  const runners = new Map(jobs.map((job) => [job.name, new JobRunner(job, options)]));
  if (runners.size !== jobs.length) throw new Error('Two jobs have the same name');
  const find = (name: string) => {
    const runner = runners.get(name);
    if (runner === undefined) throw new Error(`No job is named ${name}`);
    return runner;
  };
  return {
    wake: (name, inMs) => find(name).wake(inMs),
    runOnce: (name) => find(name).runOnce(),
    start() {
      for (const runner of runners.values()) runner.start();
    },
    async stop() {
      await Promise.all([...runners.values()].map((runner) => runner.stop()));
    },
  };
}

class JobRunner {
  readonly #job: Job;
  readonly #options: JobOptions;
  readonly #stopping = new AbortController();
  #started = false;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  // When the next run starts; during a run, when its wakes ask for the next. On the clock of performance.now().
  #nextAt = Number.POSITIVE_INFINITY;
  // Runs follow each other.
  readonly #inTurn = oneAtATime();

  constructor(job: Job, options: JobOptions) {
    this.#job = job;
    this.#options = options;
  }

  start(): void {
    this.#started = true;
    // Instances that start together do not stay in step.
    this.#schedule(performance.now() + Math.random() * Math.min(this.#job.everyMs, 1_000));
  }

  wake(inMs = 0): void {
    if (!this.#started) return;
    const at = performance.now() + inMs;
    if (at >= this.#nextAt) return;
    if (this.#running) this.#nextAt = at;
    else this.#schedule(at);
  }

  runOnce(): Promise<unknown> {
    return this.#inTurn(() => this.#run());
  }

  async stop(): Promise<void> {
    this.#started = false;
    clearTimeout(this.#timer);
    this.#stopping.abort();
    await this.#inTurn(() => Promise.resolve());
  }

  #schedule(at: number): void {
    clearTimeout(this.#timer);
    this.#nextAt = at;
    // A timer drops fractions, and a run that starts early finds nothing due.
    this.#timer = setTimeout(() => void this.#loop(), Math.ceil(Math.max(0, at - performance.now())));
  }

  async #loop(): Promise<void> {
    this.#running = true;
    this.#nextAt = Number.POSITIVE_INFINITY;
    let pause = pauseAfterFailureMs(this.#job.everyMs);
    try {
      pause = pauseMs(await this.runOnce(), this.#job.everyMs);
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#options.logger.error({ err: error, job: this.#job.name }, 'Job failed');
    }
    this.#running = false;
    if (this.#started) this.#schedule(Math.min(this.#nextAt, performance.now() + pause));
  }

  async #run(): Promise<unknown> {
    const startedAt = performance.now();
    let ok = false;
    try {
      const run = () => this.#job.run(this.#stopping.signal);
      const result = await withRequestContext({ requestId: newRequestId() }, () => asOwnWork(run));
      ok = !(result instanceof PartlyFailed);
      return result instanceof PartlyFailed ? result.next : result;
    } finally {
      this.#options.observer?.ran(this.#job.name, { ok, durationMs: performance.now() - startedAt });
    }
  }
}

// Where rows fall due every few milliseconds, they are taken a batch a second, not one a run.
const shortestDuePauseMs = 1_000;

function pauseMs(result: unknown, everyMs: number): number {
  if (result === true) return 0;
  const dueInMs = isNextRun(result) ? result.dueInMs : undefined;
  return Math.min(everyMs, Math.max(dueInMs ?? everyMs, shortestDuePauseMs));
}

// Most failures are an outage of seconds, and a job that looks for work once a minute should not lose a minute to it.
function pauseAfterFailureMs(everyMs: number): number {
  return Math.min(everyMs, Math.max(15_000, everyMs / 10));
}

function isNextRun(result: unknown): result is NextRun {
  return typeof result === 'object' && result !== null && 'dueInMs' in result;
}
