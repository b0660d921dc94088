import { AsyncLocalStorage } from 'node:async_hooks';
import { isConnectionLoss } from './errors.ts';
import type { Scope } from './scope.ts';

/** How items of one kind are carried out. */
export interface GroupOptions<Item, Result> {
  /** Carries out two items or more. Returns a result for each, in the same order; fails as a whole. */
  together(scope: Scope, items: readonly Item[]): Promise<readonly Result[]>;
  /** Carries out one item, in the context of its request. */
  alone(scope: Scope, item: Item): Promise<Result>;
  /** Whether an item whose outcome is unknown may be carried out again, as a read may. */
  readonly isRepeatable: boolean;
  /** By what an item is expected; without it items are not. */
  idOf?(item: Item): string;
}

/** Items of one kind; concurrent ones are carried out together. */
export interface Groups<Item, Result> extends Expecting {
  /** Resolves with the item's own result. */
  submit(scope: Scope, item: Item): Promise<Result>;
}

/** What a call to a peer leads to, such as the charge to its settlement: items that go through the same steps stay together. */
export interface Expecting {
  /** Says that the item of this id comes soon: those of its account and mode that come before it wait for it, `maxGatherMs` at most. */
  expect(scope: Scope, id: string): void;
  /** Says that an expected item does not come. */
  forget(scope: Scope, id: string): void;
}

/** The most items in a group. A group pays for each statement's start and for the commit once; beyond 16 items that is a small part of its cost. */
export const maxGroupSize = 16;
/** How long a group waits for the one before it: a connection that has fallen silent holds up its own group alone. */
export const maxWaitMs = 100;
/** How long a group waits for items that are expected: answers of the processor to calls that were made together come within a few milliseconds. */
export const maxGatherMs = 10;
/** How many items of an account and mode may wait for a group. Further items are carried out alone and wait for a connection, as any statement does. */
const maxWaiting = 256;

/**
 * Items that one account and mode submits in one turn of the event loop, or while its last ones are in flight, are carried out together. A single item is carried out alone. If
 * a group fails, each of its items is carried out alone, so no item fails because of another; but if its connection is lost, items that are not
 * repeatable fail with it, since they may have been committed. All waiting items are then carried out alone, so none waits for the timeouts of earlier
 * groups. Accounts do not wait for each other.
 */
export function openGroups<Item, Result>(options: GroupOptions<Item, Result>): Groups<Item, Result> {
  const lines = new Map<string, Waiting<Item, Result>[]>();
  const expected = new Map<string, Set<string>>();
  /** Of the groups that wait for expected items: called when there is no more reason to. */
  const complete = new Map<string, () => void>();
  // A group belongs to several requests, so it runs in the context of none of them, and waits for a connection as a call of its account (14.387).
  const outside = AsyncLocalStorage.snapshot();

  // Never rejects: the submitters get each failure.
  async function workOff(key: string, scope: Scope): Promise<void> {
    await endOfTurn();
    for (;;) {
      if (!isComplete(key)) await gathered(key);
      const group = lines.get(key)?.splice(0, maxGroupSize) ?? [];
      if (group.length === 0) break;
      const isLost = await withinLimit(carryOut(options, scope, group), false);
      if (isLost) await eachAlone(lines.get(key)?.splice(0) ?? []);
    }
    lines.delete(key);
  }

  function isComplete(key: string): boolean {
    const waiting = lines.get(key)?.length ?? 0;
    return !expected.has(key) || waiting === 0 || waiting >= maxGroupSize;
  }

  async function gathered(key: string): Promise<void> {
    await withinLimit(new Promise<void>((resolve) => complete.set(key, resolve)), undefined, maxGatherMs);
    complete.delete(key);
  }

  function forget(key: string, id: string): void {
    const ids = expected.get(key);
    if (ids?.delete(id) !== true) return;
    if (ids.size === 0) expected.delete(key);
    if (isComplete(key)) complete.get(key)?.();
  }

  return {
    expect(scope, id) {
      const key = keyOf(scope);
      const ids = expected.get(key);
      if (ids === undefined) expected.set(key, new Set([id]));
      else ids.add(id);
    },
    forget: (scope, id) => forget(keyOf(scope), id),
    async submit(scope, item) {
      const key = keyOf(scope);
      let waiting = lines.get(key);
      if (waiting === undefined) {
        waiting = [];
        lines.set(key, waiting);
        outside(() => void workOff(key, scope));
      }
      if (waiting.length >= maxWaiting) return options.alone(scope, item);
      const line = waiting;
      const turn = await new Promise<Turn<Result>>((resolve, reject) => {
        line.push({ item, resolve, reject });
        const id = options.idOf?.(item);
        if (id !== undefined) forget(key, id);
      });
      if (turn.kind === 'done') return turn.result;
      try {
        return await options.alone(scope, item);
      } finally {
        turn.done();
      }
    },
  };
}

function keyOf({ accountId, testMode }: Scope): string {
  return `${accountId} ${testMode}`;
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The outcome for an item that waited: carried out in a group, or to be carried out alone by its submitter. */
type Turn<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  | { readonly kind: 'alone'; readonly done: () => void };

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (turn: Turn<Result>) => void;
  readonly reject: (error: unknown) => void;
}

// Returns whether the connection was lost.
async function carryOut<Item, Result>(
  { together, isRepeatable }: GroupOptions<Item, Result>,
  scope: Scope,
  group: readonly Waiting<Item, Result>[],
): Promise<boolean> {
  let isLost = false;
  if (group.length > 1) {
    try {
      const results = await together(
        scope,
        group.map(({ item }) => item),
      );
      for (const [at, { resolve }] of group.entries()) resolve({ kind: 'done', result: results[at] as Result });
      return false;
    } catch (error) {
      isLost = isConnectionLoss(error);
      // It may have been lost while the group committed: the outcome of each item is unknown, as if it had been carried out alone.
      if (isLost && !isRepeatable) {
        for (const { reject } of group) reject(error);
        return isLost;
      }
    }
  }
  await eachAlone(group);
  return isLost;
}

async function eachAlone<Item, Result>(group: readonly Waiting<Item, Result>[]): Promise<void> {
  await settledOrTimedOut(group.map(({ resolve }) => new Promise<void>((done) => resolve({ kind: 'alone', done }))));
}

async function settledOrTimedOut(work: readonly Promise<unknown>[]): Promise<void> {
  await withinLimit(
    Promise.allSettled(work).then(() => undefined),
    undefined,
  );
}

/** What the work ends in, or `otherwise` when it has not ended in time; it goes on then. */
async function withinLimit<Outcome>(work: Promise<Outcome>, otherwise: Outcome, ms = maxWaitMs): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Outcome>((resolve) => {
    timer = setTimeout(resolve, ms, otherwise);
  });
  const outcome = await Promise.race([work, late]);
  clearTimeout(timer);
  return outcome;
}
