import type { Database } from './database.ts';
import { type Groups, maxWaitMs, openGroups } from './groups.ts';
import type { Scope } from './scope.ts';
import type { Tx } from './tx.ts';
import { withTx } from './with-tx.ts';

/** How one kind of write is carried out. */
export interface GroupedWritesOptions<Item, Result> {
  readonly database: Database;
  /** Writes items in one transaction: two or more, and one where there is no `writeAlone`. Returns a result for each, in the same order, or undefined to refuse the group. */
  writeGroup(tx: Tx, scope: Scope, items: readonly Item[]): Promise<readonly Result[] | undefined>;
  /** Writes one item in its own transaction, in the context of its request. By default the item is a group of one. */
  writeAlone?(scope: Scope, item: Item): Promise<Result>;
  /** As for groups of any kind. */
  idOf?(item: Item): string;
}

/** Writes of one kind; concurrent writes share a transaction. An item is committed when its promise resolves. */
export type GroupedWrites<Item, Result> = Groups<Item, Result>;

/**
 * Group commit. Items that one account and mode submits while its last write is in flight share one transaction, which pays for the start of each
 * statement and for the commit once. A group commits as a whole or not at all. It waits for a row that another transaction has locked for at most
 * `maxWaitMs`; after that each of its items is written alone, so no item waits for another item's row.
 */
export function openGroupedWrites<Item, Result>(
  options: GroupedWritesOptions<Item, Result>,
): GroupedWrites<Item, Result> {
  const { database, writeGroup, idOf } = options;
  const { writeAlone = (scope, item) => writeGroupOfOne(options, scope, item) } = options;
  return openGroups<Item, Result>({
    together: (scope, items) =>
      withTx(database, scope, (tx) => allOrNone(writeGroup(tx, scope, items)), { lockTimeoutMs: maxWaitMs }),
    alone: writeAlone,
    isRepeatable: false,
    ...(idOf === undefined ? {} : { idOf }),
  });
}

async function writeGroupOfOne<Item, Result>(
  { database, writeGroup }: GroupedWritesOptions<Item, Result>,
  scope: Scope,
  item: Item,
): Promise<Result> {
  const [result] = await withTx(database, scope, (tx) => allOrNone(writeGroup(tx, scope, [item])));
  return result as Result;
}

/** Rolls back a group. */
class GroupRefused extends Error {}

async function allOrNone<Result>(written: Promise<readonly Result[] | undefined>): Promise<readonly Result[]> {
  const results = await written;
  if (results === undefined) throw new GroupRefused('An item of the group must be written alone');
  return results;
}
