import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database } from './database.ts';
import { isConnectionLoss } from './errors.ts';
import type { Scope } from './scope.ts';
import type { Tx } from './tx.ts';
import { withTx } from './with-tx.ts';

/** How writes of one kind are written. */
export interface GroupedWritesOptions<Item, Result> {
  readonly database: Database;
  /** Writes at least two items in one transaction and answers a result for each, in their order; undefined refuses the group. */
  writeGroup(tx: Tx, scope: Scope, items: readonly Item[]): Promise<readonly Result[] | undefined>;
  /** Writes one item in a transaction of its own, in the context of its request. */
  writeAlone(scope: Scope, item: Item): Promise<Result>;
}

/** Writes of one kind, joined where they come at the same time. */
export interface GroupedWrites<Item, Result> {
  /** Resolves once the item is committed. */
  submit(scope: Scope, item: Item): Promise<Result>;
}

/** How many items a group has at most. It pays each statement's start and its commit once; beyond sixteen items those are a small part of its cost. */
export const mostOfGroup = 16;
/**
 * A group waits this long for a row that another transaction holds. Then each of its items waits alone, so none waits for another's row. What is
 * written alone holds up what comes after it no longer than this, either.
 */
const longestWaitMs = 100;
/** How many may wait for a group of their account and mode; what comes then is written alone, and waits for a connection as any write does. */
const mostWaiting = 256;

/**
 * Group commit: what one account and mode submits while its last write is in flight goes into one transaction, so that the start of each statement
 * and the commit are paid once for several. An item that comes alone is written alone and at once. A group commits whole or not at all: when it is
 * refused or fails, each of its items is written alone, so none fails because of another. When the connection is lost, all that wait are written alone,
 * so none waits for the time-outs of the groups before it. Accounts do not wait for each other.
 */
export function openGroupedWrites<Item, Result>(
  options: GroupedWritesOptions<Item, Result>,
): GroupedWrites<Item, Result> {
  const lines = new Map<string, Waiting<Item, Result>[]>();
  // A group belongs to several requests and runs in the context of none.
  const outside = AsyncLocalStorage.snapshot();

  // Never rejects: each failure goes to those who submitted.
  async function writeLine(key: string, scope: Scope, first: Promise<unknown>): Promise<void> {
    await settledOrLate([first]);
    for (;;) {
      const group = lines.get(key)?.splice(0, mostOfGroup) ?? [];
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
        const written = options.writeAlone(scope, item);
        outside(() => void writeLine(key, scope, written));
        return written;
      }
      if (line.length >= mostWaiting) return options.writeAlone(scope, item);
      const turn = await new Promise<Turn<Result>>((resolve, reject) => {
        line.push({ item, resolve, reject });
      });
      if (turn.kind === 'written') return turn.result;
      try {
        return await options.writeAlone(scope, item);
      } finally {
        turn.done();
      }
    },
  };
}

/** What became of an item that waited: written with others, or to be written alone by whoever submitted it. */
type Turn<Result> =
  | { readonly kind: 'written'; readonly result: Result }
  | { readonly kind: 'alone'; readonly done: () => void };

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (turn: Turn<Result>) => void;
  readonly reject: (error: unknown) => void;
}

// Answers whether the connection was lost.
async function writeTogether<Item, Result>(
  { database, writeGroup }: GroupedWritesOptions<Item, Result>,
  scope: Scope,
  group: readonly Waiting<Item, Result>[],
): Promise<boolean> {
  if (group.length > 1) {
    const items = group.map(({ item }) => item);
    try {
      const results = await withTx(database, scope, (tx) => allOrNone(writeGroup(tx, scope, items)), {
        lockTimeoutMs: longestWaitMs,
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
  await settledOrLate(group.map(({ resolve }) => new Promise<void>((done) => resolve({ kind: 'alone', done }))));
}

async function settledOrLate(writes: readonly Promise<unknown>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, longestWaitMs);
  });
  await Promise.race([Promise.allSettled(writes), late]);
  clearTimeout(timer);
}

/** Rolls a group back. */
class GroupRefused extends Error {}

async function allOrNone<Result>(written: Promise<readonly Result[] | undefined>): Promise<readonly Result[]> {
  const results = await written;
  if (results === undefined) throw new GroupRefused('an item cannot be written with the others');
  return results;
}
