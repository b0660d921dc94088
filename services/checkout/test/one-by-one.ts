import { maxGatherMs } from '@eligo/postgres';
import type { Context } from '../src/context.ts';
import type { ChargeFailpoint } from '../src/failpoints.ts';

/**
 * A failpoint at which so many pieces of work wait for each other. Once all are there, each goes on in a turn of the event loop of its own, as it does when the processor
 * answers one after the other. `mostGroups` says into how many groups they may fall by that, once the last one goes on: on a busy machine more pass than one gathers in its time.
 */
export function oneByOne(
  at: string,
  count: number,
): { failpoint: Context['failpoint']; mostGroups(): Promise<number> } {
  const waiting: (() => void)[] = [];
  const spread = Promise.withResolvers<number>();
  const letGo = async () => {
    // A timer counts from when its turn of the loop began: the first one's must not have begun with the work of the last one that came.
    await nextTurn();
    const firstAt = performance.now();
    for (const goOn of waiting) {
      goOn();
      for (const _turn of [1, 2, 3]) await nextTurn();
    }
    spread.resolve(performance.now() - firstAt);
  };
  return {
    async failpoint(name) {
      if (name !== at) return;
      const turn = new Promise<void>((resolve) => waiting.push(resolve));
      if (waiting.length === count) void letGo();
      await turn;
    },
    // A timer goes by whole milliseconds, so it may end one early.
    mostGroups: async () => 1 + Math.floor((await spread.promise) / (maxGatherMs - 1)),
  };
}

/** A failpoint at which so many callers wait for each other at each of these places, so that what they write next is written together. */
export function meetAt(places: readonly ChargeFailpoint[], count: number): Context['failpoint'] {
  const met = new Map<ChargeFailpoint, (() => void)[]>(places.map((place) => [place, []]));
  return (name) => {
    const waiting = met.get(name);
    if (waiting === undefined) return undefined;
    return new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === count) for (const goOn of waiting) goOn();
    });
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
