import type { Topology } from '@eligo/testkit';
import { afterAll } from 'vitest';
import { openStage, type Stage } from '../src/crashes/stage.ts';

/**
 * Stages for many crashes, each of which has one to itself. Most of a crash is waiting, for leases and for a process to come up, so several share the
 * machine. After a crash that did not converge its stage is closed: what is wrong stays wrong in its books.
 */
export function sharedStages(
  topology: Topology,
  count: number,
): (use: (stage: Stage) => Promise<void>) => Promise<void> {
  const free: Place[] = Array.from({ length: count }, () => ({ stage: undefined }));
  const waiting: ((place: Place) => void)[] = [];
  afterAll(async () => {
    await Promise.all(free.map(close));
  }, 60_000);
  return async (use) => {
    const place = free.pop() ?? (await new Promise<Place>((resolve) => waiting.push(resolve)));
    try {
      place.stage ??= openStage(topology);
      await use(await place.stage);
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
  stage: Promise<Stage> | undefined;
}

async function close(place: Place): Promise<void> {
  const opened = place.stage;
  place.stage = undefined;
  await (await opened)?.eligo.stop();
}
