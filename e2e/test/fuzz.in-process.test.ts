import { type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { seedOfRun } from '../src/chaos/random.ts';
import { fuzzRequestsOfRun } from '../src/fuzz/plan.ts';
import { runFuzz } from '../src/fuzz/run-fuzz.ts';

const requests = fuzzRequestsOfRun();

/**
 * What two thirds of the requests may leave: caches and compiled code, some 5 MB in a short run, not what grows with each request. What the process has
 * taken from the system grows by some 60 MB at times with the same heap, so the last third alone is looked at, and strictly only in a long run.
 */
const bounds = { heapMb: 10, externalMb: 5, residentMb: requests > 10_000 ? 40 : 100 };

// Everything is in this process, so that what any part of Eligo keeps shows in its memory.
describe(`${requests} random requests to every route`, () => {
  let eligo: Constellation;
  beforeAll(async () => {
    // Each batch has an account of its own, with the key that it was made with.
    eligo = await startConstellation({ topology: 'in-process', environment: { ELIGO_RATE_LIMIT_TEST: '1000000' } });
  }, 180_000);
  afterAll(() => stopWithBooks(eligo), 60_000);

  it(
    'give no 5xx, refusals of the contract’s shape, and flat memory',
    async () => {
      const seed = seedOfRun();
      console.log(`fuzz: npm run fuzz -- --requests ${requests} --seed ${seed}`);
      const run = await runFuzz(eligo, { requests, seed });
      console.log(`fuzz: ${JSON.stringify(run)}`);
      expect(run.problems.slice(0, 20)).toEqual([]);
      expect(run.requests).toBe(requests);
      // Requests that a route only refuses would show nothing.
      expect(run.neverSucceeded).toEqual([]);
      const [first, second, last] = run.memory;
      if (first === undefined || second === undefined || last === undefined)
        throw new Error('memory was not measured after each third');
      expect(last.heapMb - first.heapMb).toBeLessThan(bounds.heapMb);
      expect(last.externalMb - first.externalMb).toBeLessThan(bounds.externalMb);
      expect(last.residentMb - second.residentMb).toBeLessThan(bounds.residentMb);
    },
    300_000 + requests * 50,
  );
});
