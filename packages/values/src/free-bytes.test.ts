import { expect, it } from 'vitest';
import { freeBytes } from './free-bytes.ts';

it('empties a large buffer, and each other view of its memory', () => {
  const whole = Buffer.alloc(Buffer.poolSize, 'x');
  const half = whole.subarray(1);
  freeBytes(whole);
  expect([whole.length, half.length]).toEqual([0, 0]);
});

it('does not count towards the memory of the process any more', () => {
  const before = process.memoryUsage().arrayBuffers;
  const large = Buffer.alloc(50_000_000);
  expect(process.memoryUsage().arrayBuffers).toBeGreaterThan(before + 40_000_000);
  freeBytes(large);
  expect(process.memoryUsage().arrayBuffers).toBeLessThan(before + 40_000_000);
});

it('leaves small buffers alone, whose memory others use, and those that are free already', () => {
  const [one, own] = [Buffer.from('one'), Buffer.allocUnsafeSlow(16_383)];
  for (const bytes of [one, own]) freeBytes(bytes);
  expect([one.toString(), own.length]).toEqual(['one', 16_383]);
  const freed = Buffer.alloc(1_000_000);
  for (let times = 0; times < 2; times++) freeBytes(freed);
  expect(freed.length).toBe(0);
  // A part of one is as long as the pool at most.
  const part = Buffer.alloc(Buffer.poolSize, 'x').subarray(1);
  freeBytes(part);
  expect(part.length).toBe(Buffer.poolSize - 1);
});
