import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database } from './database.ts';
import { isConnectionLoss } from './errors.ts';
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
}

/** Writes of one kind; concurrent writes share a transaction. */
export interface GroupedWrites<Item, Result> {
  /** Resolves once the item is committed. */
  submit(scope: Scope, item: Item): Promise<Result>;
}

/** The most items in a group. A group pays for each statement's start and for the commit once; beyond 16 items that is a small part of its cost. */
export const maxGroupSize = 16;
/**
 * How long a group waits for a row that another transaction has locked. After that each of its items is written alone, so no item waits for
 * another item's row. A write alone delays the next group for at most this long, too.
 */
const maxWaitMs = 100;
/** How many items of an account and mode may wait for a group. Further items are written alone and wait for a connection, as any write does. */
const maxWaiting = 256;

/**
 * Group commit. Items that one account and mode submits while its last write is in flight share one transaction, which pays for the start of each
 * statement and for the commit once. A single item is written alone, immediately. A group commits as a whole or not at all: if it is refused or fails,
 * each of its items is written alone, so no item fails because of another. If the connection is lost, all waiting items are written alone, so none
 * waits for the timeouts of earlier groups. Accounts do not wait for each other.
 */
export function openGroupedWrites<Item, Result>(
  options: GroupedWritesOptions<Item, Result>,
): GroupedWrites<Item, Result> {
  const { writeAlone = (scope, item) => writeGroupOfOne(options, scope, item) } = options;
  const lines = new Map<string, Waiting<Item, Result>[]>();
  // A group belongs to several requests, so it runs in the context of none of them.
  const outside = AsyncLocalStorage.snapshot();

  // Never rejects: the submitters get each failure.
  async function writeLine(key: string, scope: Scope, first: Promise<unknown>): Promise<void> {
    await settledOrTimedOut([first]);
    for (;;) {
      const group = lines.get(key)?.splice(0, maxGroupSize) ?? [];
      if (group.length === 0) break;
      const isLost = await writeTogether(options, scope, group);
      if (isLost) await writeEachAlone(lines.get(key)?.splice(0) ?? []);
    }
    lines.delete(key);
  }

  return {
    async submit(scope, item) {
      const key = `${scope.accountId} ${scope.testMode}`;
      const line = lines.get(key);
      if (line === undefined) {
        lines.set(key, []);
        const written = writeAlone(scope, item);
        outside(() => void writeLine(key, scope, written));
        return written;
      }
      if (line.length >= maxWaiting) return writeAlone(scope, item);
      const turn = await new Promise<Turn<Result>>((resolve, reject) => {
        line.push({ item, resolve, reject });
      });
      if (turn.kind === 'written') return turn.result;
      try {
        return await writeAlone(scope, item);
      } finally {
        turn.done();
      }
    },
  };
}

/** The outcome for an item that waited: written in a group, or to be written alone by its submitter. */
type Turn<Result> =
  | { readonly kind: 'written'; readonly result: Result }
  | { readonly kind: 'alone'; readonly done: () => void };

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (turn: Turn<Result>) => void;
  readonly reject: (error: unknown) => void;
}

async function writeGroupOfOne<Item, Result>(
  { database, writeGroup }: GroupedWritesOptions<Item, Result>,
  scope: Scope,
  item: Item,
): Promise<Result> {
  const [result] = await withTx(database, scope, (tx) => allOrNone(writeGroup(tx, scope, [item])));
  return result as Result;
}

// Returns whether the connection was lost.
async function writeTogether<Item, Result>(
  { database, writeGroup }: GroupedWritesOptions<Item, Result>,
  scope: Scope,
  group: readonly Waiting<Item, Result>[],
): Promise<boolean> {
  if (group.length > 1) {
    const items = group.map(({ item }) => item);
    try {
      const results = await withTx(database, scope, (tx) => allOrNone(writeGroup(tx, scope, items)), {
        lockTimeoutMs: maxWaitMs,
      });
      for (const [at, { resolve }] of group.entries()) resolve({ kind: 'written', result: results[at] as Result });
      return false;
    } catch (error) {
      // The connection may have been lost while the group committed: the outcome of each item is unknown, as if it had been written alone.
      if (isConnectionLoss(error)) {
        for (const { reject } of group) reject(error);
        return true;
      }
    }
  }
  await writeEachAlone(group);
  return false;
}

async function writeEachAlone<Item, Result>(group: readonly Waiting<Item, Result>[]): Promise<void> {
  await settledOrTimedOut(group.map(({ resolve }) => new Promise<void>((done) => resolve({ kind: 'alone', done }))));
}

async function settledOrTimedOut(writes: readonly Promise<unknown>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, maxWaitMs);
  });
  await Promise.race([Promise.allSettled(writes), late]);
  clearTimeout(timer);
}

/** Rolls back a group. */
class GroupRefused extends Error {}

async function allOrNone<Result>(written: Promise<readonly Result[] | undefined>): Promise<readonly Result[]> {
  const results = await written;
  if (results === undefined) throw new GroupRefused('An item of the group must be written alone');
  return results;
}
