import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { collectStartGarbage } from '../src/index.ts';

it('collects what nothing refers to any more, and leaves no way to do so behind', async () => {
  const left = new WeakRef({ source: 'x'.repeat(1_000) });
  // A weak reference holds on to its object for the turn in which it was made.
  await nextTurn();
  collectStartGarbage();
  expect(left.deref()).toBeUndefined();
  expect(globalThis.gc).toBeUndefined();
});
