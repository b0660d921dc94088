import type { Topology } from '@eligo/testkit';
import { afterAll } from 'vitest';
import { openRunningShop, type RunningShop } from '../src/crashes/running-shop.ts';

/**
 * Running shops for many crashes, each of which has one to itself. Most of a crash is waiting, for leases and for a process to come up, so several share the
 * machine. After a crash that did not converge its shop is closed: what is wrong stays wrong in its books.
 */
export function sharedRunningShops(
  topology: Topology,
  count: number,
): (use: (running: RunningShop) => Promise<void>) => Promise<void> {
  const free: Place[] = Array.from({ length: count }, () => ({ running: undefined }));
  const waiting: ((place: Place) => void)[] = [];
  afterAll(async () => {
    await Promise.all(free.map(close));
  }, 60_000);
  return async (use) => {
    const place = free.pop() ?? (await new Promise<Place>((resolve) => waiting.push(resolve)));
    try {
      place.running ??= openRunningShop(topology);
      await use(await place.running);
    } catch (error) {
      await close(place);
      throw error;
    } finally {
      const next = waiting.shift();
      if (next === undefined) free.push(place);
      else next(place);
    }
  };
}

interface Place {
  running: Promise<RunningShop> | undefined;
}

async function close(place: Place): Promise<void> {
  const opened = place.running;
  place.running = undefined;
  await (await opened)?.eligo.stop();
}
