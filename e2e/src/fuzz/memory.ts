import { setImmediate as nextTurn } from 'node:timers/promises';
import { collectGarbage } from '@eligo/testkit/collect-garbage';

/** What this process holds, in megabytes. */
export interface Memory {
  /** The heap that is in use, once garbage was collected. */
  readonly heapMb: number;
  /** Buffers outside of it. */
  readonly externalMb: number;
  /** All that the process has taken from the system; it gives back late. */
  readonly residentMb: number;
}

/** Collects garbage and measures what is left. */
export async function measureMemory(): Promise<Memory> {
  // What finalizers free is collected by the next round.
  for (let round = 0; round < 3; round += 1) {
    collectGarbage();
    await nextTurn();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heapMb: inMegabytes(heapUsed), externalMb: inMegabytes(external), residentMb: inMegabytes(rss) };
}

function inMegabytes(bytes: number): number {
  return Math.round((bytes / 1_048_576) * 10) / 10;
}
