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

it('leaves small buffers alone, whose memory others use', () => {
  const [one, other] = [Buffer.from('one'), Buffer.from('other')];
  freeBytes(one);
  expect([one.toString(), other.toString()]).toEqual(['one', 'other']);
  // A part of one is as long as the pool at most.
  const part = Buffer.alloc(Buffer.poolSize, 'x').subarray(1);
  freeBytes(part);
  expect(part.length).toBe(Buffer.poolSize - 1);
});
