import { newRequestId, withRequestContext } from '@eligo/rpc';
import type { Logger } from './logger.ts';

/** Work that a service does by itself, again and again. */
export interface Job {
  readonly name: string;
  /** The pause between the end of one run and the start of the next. */
  readonly everyMs: number;
  /** One run; it never overlaps with itself. Returning true says that there is more to do, and the next run starts at once. */
  run(signal: AbortSignal): Promise<unknown>;
}

/** What is told about each run. */
export interface JobObserver {
  ran(job: string, run: { ok: boolean; durationMs: number }): void;
}

export interface JobOptions {
  readonly logger: Logger;
  readonly observer?: JobObserver | undefined;
}

/** The jobs of a service, running. */
export interface RunningJobs {
  /** Runs a job now, or right after the run that is under way. */
  wake(name: string): void;
  /** Runs a job once and waits for it, whether or not the jobs are started. Rejects with what the job throws. */
  runOnce(name: string): Promise<unknown>;
  start(): void;
  /** Starts no more runs, aborts their signal, and resolves when those under way have ended. */
  stop(): Promise<void>;
}

/** Prepares the jobs of a service; nothing runs before `start`. */
export function prepareJobs(jobs: readonly Job[], options: JobOptions): RunningJobs {
  const runners = new Map(jobs.map((job) => [job.name, new JobRunner(job, options)]));
  if (runners.size !== jobs.length) throw new Error('two jobs have the same name');
  const find = (name: string) => {
    const runner = runners.get(name);
    if (runner === undefined) throw new Error(`there is no job ${name}`);
    return runner;
  };
  return {
    wake: (name) => find(name).wake(),
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
  #again = false;
  // The run under way or the last one: runs follow each other on this chain.
  #tail: Promise<unknown> = Promise.resolve();

  constructor(job: Job, options: JobOptions) {
    this.#job = job;
    this.#options = options;
  }

  start(): void {
    this.#started = true;
    // Instances that start together do not stay in step.
    this.#schedule(Math.random() * Math.min(this.#job.everyMs, 1_000));
  }

  wake(): void {
    if (!this.#started) return;
    if (this.#running) this.#again = true;
    else this.#schedule(0);
  }

  runOnce(): Promise<unknown> {
    const run = this.#tail.then(() => this.#run());
    this.#tail = run.then(ended, ended);
    return run;
  }

  async stop(): Promise<void> {
    this.#started = false;
    clearTimeout(this.#timer);
    this.#stopping.abort();
    await this.#tail;
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#loop(), delayMs);
  }

  async #loop(): Promise<void> {
    this.#running = true;
    this.#again = false;
    let more = false;
    try {
      more = (await this.runOnce()) === true;
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        this.#options.logger.error({ err: error, job: this.#job.name }, 'a job failed');
    }
    this.#running = false;
    if (this.#started) this.#schedule(more || this.#again ? 0 : this.#job.everyMs);
  }

  async #run(): Promise<unknown> {
    const startedAt = performance.now();
    let ok = false;
    try {
      const run = () => this.#job.run(this.#stopping.signal);
      const result = await withRequestContext({ requestId: newRequestId() }, run);
      ok = true;
      return result;
    } finally {
      this.#options.observer?.ran(this.#job.name, { ok, durationMs: performance.now() - startedAt });
    }
  }
}

function ended(): undefined {
  return undefined;
}
