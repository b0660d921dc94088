import { expect, it } from 'vitest';
import { collectStartGarbage } from '../src/index.ts';

it('collects what nothing refers to any more, and leaves no way to do so behind', async () => {
  const collected = Promise.withResolvers<string>();
  const registry = new FinalizationRegistry(collected.resolve);
  registry.register({ source: 'x'.repeat(1_000) }, 'the source');
  collectStartGarbage(1);
  await expect(collected.promise).resolves.toBe('the source');
  expect(globalThis.gc).toBeUndefined();
});
