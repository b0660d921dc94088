import { type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seedOfRun } from '../src/chaos/random.ts';
import { fuzzRequestsOfRun } from '../src/fuzz/plan.ts';
import { runFuzz } from '../src/fuzz/run-fuzz.ts';

const requests = fuzzRequestsOfRun();

/** What may be left of two thirds of the requests: caches that fill, not what grows with each request. */
// The heap is what tells a leak. What the process has taken from the system varies by some 20 MB from run to run with the same heap.
const bounds = requests > 10_000 ? { heapMb: 10, residentMb: 70 } : { heapMb: 6, residentMb: 70 };

// Everything is in this process, so that what any part of Eligo keeps shows in its memory.
describe(`${requests} random requests to every route`, () => {
  let eligo: Constellation;
  beforeAll(async () => {
    // Each batch has an account of its own, with the key that it was made with.
    eligo = await startConstellation({ topology: 'in-process', environment: { ELIGO_RATE_LIMIT_TEST: '1000000' } });
  }, 180_000);
  afterAll(() => eligo?.stop(), 60_000);

  it(
    'give no 5xx, refusals of the contract’s shape, and flat memory',
    async () => {
      const seed = seedOfRun();
      console.log(`fuzz: npm run fuzz -- --requests ${requests} --seed ${seed}`);
      const run = await runFuzz(eligo, { requests, seed });
      console.log(`fuzz: ${JSON.stringify(run)}`);
      expect(run.problems.slice(0, 20)).toEqual([]);
      expect(run.requests).toBe(requests);
      // Requests that no route takes would show nothing.
      if (requests >= 10_000) expect(run.neverSucceeded).toEqual([]);
      const [first, , last] = run.memory;
      if (first === undefined || last === undefined) throw new Error('memory was not measured after each third');
      expect(last.heapMb - first.heapMb).toBeLessThan(bounds.heapMb);
      expect(last.residentMb - first.residentMb).toBeLessThan(bounds.residentMb);
    },
    120_000 + requests * 20,
  );
});
