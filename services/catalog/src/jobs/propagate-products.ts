import { setTimeout as sleep } from 'node:timers/promises';
import { AccountTurns, type Job, PartlyFailed } from '@eligo/service';
import { propagateProducts } from '../actions/propagate-product.ts';
import type { Context } from '../context.ts';
import { nextPropagationInMs, propagateProductsJob, propagationTurns } from '../store/propagating-products.ts';

// Each takes a page of at most four products, some 100 ms.
const accountsInRun = 50;
const longestPauseMs = 200;

/**
 * Copies the state of products that changed to their prices, account by account and product by product, in pages. After each turn it pauses for as
 * long as the turn took, at most 200 ms: half of the time belongs to the statements of others.
 */
export function propagateProductStates(
  { database }: Pick<Context, 'database'>,
  onFailure: (error: unknown) => void,
): Job {
  let hasFailed = false;
  const noteFailure = (error: unknown) => {
    hasFailed = true;
    onFailure(error);
  };
  const turns = new AccountTurns(
    (after) => propagationTurns(database, after, accountsInRun),
    async (scope, { signal }) => {
      const startedMs = performance.now();
      const isMore = await propagateProducts({ database }, scope, signal, noteFailure);
      const pauseMs = Math.min(longestPauseMs, performance.now() - startedMs);
      if (isMore) await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      return isMore;
    },
    () => nextPropagationInMs(database),
  );
  return {
    name: propagateProductsJob,
    // The commit of the change wakes it; this finds what a process that died has left.
    everyMs: 60_000,
    async run(signal) {
      hasFailed = false;
      const next = await turns.run(signal, noteFailure);
      return hasFailed ? new PartlyFailed(next) : next;
    },
  };
}
