import { expect, it, vi } from 'vitest';
import { collectStartGarbage } from '../src/index.ts';

it('collects what nothing refers to any more, and leaves no way to do so behind', async () => {
  const left = new WeakRef({ source: 'x'.repeat(1_000) });
  collectStartGarbage(1);
  await vi.waitFor(() => expect(left.deref()).toBeUndefined());
  expect(globalThis.gc).toBeUndefined();
});
