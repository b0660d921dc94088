import { expect, it } from 'vitest';
import { allReplicas, readReplicas } from '../src/replicas.ts';

it('reads how many of each component run, given at once or one by one [D14.210]', () => {
  expect(readReplicas(['checkout=2,gateway=3'])).toEqual({ checkout: 2, gateway: 3 });
  expect(readReplicas(['checkout=2', 'gateway=3'])).toEqual({ checkout: 2, gateway: 3 });
  expect(readReplicas([])).toEqual({});
});

it.each(['checkout', 'checkout=0', 'checkout=9', 'checkout=12', 'postgres=2', 'checkout=2=3', ''])(
  'refuses --replicas "%s" in words',
  (text) => {
    expect(() => readReplicas([text])).toThrow('use checkout=2: one of catalog, checkout');
  },
);

it('names the first replica as its component, and each only once', () => {
  const names = allReplicas({ checkout: 3 }).map(({ name }) => name);
  expect(names.filter((name) => name.startsWith('checkout'))).toEqual(['checkout', 'checkout-2', 'checkout-3']);
  expect(new Set(names).size).toBe(8);
});
