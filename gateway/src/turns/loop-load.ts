import { type EventLoopUtilization, performance } from 'node:perf_hooks';

/**
 * Whether this process has no time to spare: the share of time in which its event loop did not wait. On a machine whose processors are all taken it is
 * high as well, because the loop then waits for a processor in the midst of its work.
 */
export class LoopLoad {
  #before: EventLoopUtilization = performance.eventLoopUtilization();
  #lookedAtMs = performance.now();
  #isBusy = false;

  /** Looks at most ten times a second, and only when it is asked: a look costs a microsecond. */
  isBusy(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#lookedAtMs < lookMs) return this.#isBusy;
    const now = performance.eventLoopUtilization();
    this.#isBusy = performance.eventLoopUtilization(now, this.#before).utilization > busyShare;
    this.#before = now;
    this.#lookedAtMs = nowMs;
    return this.#isBusy;
  }
}

const lookMs = 100;
const busyShare = 0.7;
