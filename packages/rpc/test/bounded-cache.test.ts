import { expect, test } from 'vitest';
import { BoundedCache } from '../src/bounded-cache.ts';

test('holds no more than its limit and forgets what was used least recently', () => {
  const cache = new BoundedCache<number>(3);
  for (const key of ['a', 'b', 'c']) cache.set(key, key.charCodeAt(0), 100);
  expect(cache.get('a', 0)).toBe(97);
  cache.set('d', 100, 100);
  expect(cache.size).toBe(3);
  expect(cache.get('b', 0)).toBeUndefined();
  expect(cache.get('a', 0)).toBe(97);
});

test('never returns an expired entry', () => {
  const cache = new BoundedCache<number>(3);
  cache.set('a', 1, 100);
  expect(cache.get('a', 99)).toBe(1);
  expect(cache.get('a', 100)).toBeUndefined();
  expect(cache.size).toBe(0);
});

test('stays bounded under keys that never repeat', () => {
  const cache = new BoundedCache<number>(100);
  for (let at = 0; at < 10_000; at += 1) cache.set(String(at), at, 1e15);
  expect(cache.size).toBe(100);
});
