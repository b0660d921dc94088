import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { boundedSignal } from './bounded-signal.ts';

test('a bounded signal is aborted after its time, and before it with the other one', async () => {
  const other = new AbortController();
  const [bounded, ended] = [boundedSignal(new AbortController().signal, 20), boundedSignal(other.signal, 60_000)];
  expect([bounded.aborted, ended.aborted]).toEqual([false, false]);
  other.abort();
  expect(ended.aborted).toBe(true);
  await expect(pause(10_000, undefined, { signal: bounded })).rejects.toThrow('aborted');
});
