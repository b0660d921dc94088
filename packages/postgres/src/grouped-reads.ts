import { type Groups, openGroups } from './groups.ts';
import type { Scope } from './scope.ts';

/** Reads of one kind; concurrent reads share a statement. Each sees at least what was committed when it was submitted. */
export type GroupedReads<Item, Result> = Groups<Item, Result>;

/**
 * Reads that one account and mode submits while its last read is in flight share one statement: requests that come together often ask for the same rows, and
 * a round trip costs more than a row. `read` returns a result for each item, in the same order.
 */
export function openGroupedReads<Item, Result>(
  read: (scope: Scope, items: readonly Item[]) => Promise<readonly Result[]>,
): GroupedReads<Item, Result> {
  return openGroups<Item, Result>({
    together: read,
    isRepeatable: true,
    async alone(scope, item) {
      const [result] = await read(scope, [item]);
      return result as Result;
    },
  });
}
