import type { Context } from '../src/context.ts';

/**
 * A failpoint at which so many pieces of work wait for each other. Once all are there, each goes on in a turn of the event loop of its own, as it does when the processor
 * answers one after the other. `spentMs` says how long that took in all.
 */
export function oneByOne(at: string, count: number): { failpoint: Context['failpoint']; spentMs(): number } {
  const waiting: (() => void)[] = [];
  let [firstAt, lastAt] = [0, 0];
  const letGo = async () => {
    firstAt = performance.now();
    for (const goOn of waiting) {
      goOn();
      for (const _turn of [1, 2, 3]) await new Promise((resolve) => setImmediate(resolve));
    }
    lastAt = performance.now();
  };
  return {
    async failpoint(name) {
      if (name !== at) return;
      const turn = new Promise<void>((resolve) => waiting.push(resolve));
      if (waiting.length === count) void letGo();
      await turn;
    },
    spentMs: () => lastAt - firstAt,
  };
}
