import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { waitedForProcessorMs } from './waited-for-processor.ts';

/**
 * Whether this process has no time to spare: its event loop works half of the time, or it had to wait for a processor when it had work, because other processes of the
 * machine, such as Postgres, take them.
 */
export class LoopLoad {
  #before: EventLoopUtilization = performance.eventLoopUtilization();
  #cpuBefore = process.threadCpuUsage();
  #waitedBeforeMs = waitedForProcessorMs();
  #lookedAtMs = performance.now();
  #busyAtMs = Number.NEGATIVE_INFINITY;
  #utilization = 0;

  /** Looks at most ten times a second, and only when it is asked: a look costs a few microseconds. */
  isBusy(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#lookedAtMs < lookMs) return nowMs - this.#busyAtMs < lingerMs;
    const now = performance.eventLoopUtilization();
    const cpu = process.threadCpuUsage();
    const { active, utilization } = performance.eventLoopUtilization(now, this.#before);
    const cpuMs = (cpu.user - this.#cpuBefore.user + cpu.system - this.#cpuBefore.system) / 1_000;
    // A thread that is woken waits for a processor before its loop counts as active.
    const waitedMs = waitedForProcessorMs();
    const wantedMs = cpuMs + ((waitedMs ?? 0) - (this.#waitedBeforeMs ?? 0));
    this.#waitedBeforeMs = waitedMs;
    if (isShortOfTime({ activeMs: Math.max(active, wantedMs), cpuMs, utilization })) this.#busyAtMs = nowMs;
    this.#utilization = utilization;
    this.#before = now;
    this.#cpuBefore = cpu;
    this.#lookedAtMs = nowMs;
    return nowMs - this.#busyAtMs < lingerMs;
  }

  /** The part of the time in which the loop worked, at the last look. */
  get utilization(): number {
    return this.#utilization;
  }
}

/** What a loop did since the last look. */
export interface LoopTimes {
  /** In which it had something to do, with a processor or without. */
  readonly activeMs: number;
  /** In which it had a processor. */
  readonly cpuMs: number;
  readonly utilization: number;
}

/** Whether these times say that the process has none to spare. */
export function isShortOfTime({ activeMs, cpuMs, utilization }: LoopTimes): boolean {
  return utilization > busyShare || (activeMs > leastActiveMs && cpuMs < activeMs * ownShare);
}

const lookMs = 100;
// A process that is busy because of one account would otherwise let it go on at each moment in which holding it back helped.
const lingerMs = 500;
// Beyond it, what one account does makes another one's requests wait about as long as they work.
const busyShare = 0.5;
const leastActiveMs = 8;
const ownShare = 0.7;
