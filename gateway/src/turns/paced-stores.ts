import type { CostBudgets, Neighbors, TurnCaller } from '@eligo/service';
import type { ContentStore, ContentStores } from '../files/content-stores.ts';
import { partBytes } from '../files/file-rows.ts';
import type { ExpensiveRequests } from './expensive-requests.ts';

/** What the turns of parts are made with. */
export interface PartTurns {
  readonly neighbors: Neighbors;
  readonly budgets: CostBudgets;
  readonly parts: ExpensiveRequests;
}

/**
 * The stores of files, which store and read the parts of an account's files one at a time while its neighbors are short of time. The time that a part takes in the
 * store counts as the account's.
 */
export function pacedStores(stores: ContentStores, { neighbors, budgets, parts }: PartTurns): ContentStores {
  const charged = async <Done>(scope: TurnCaller, work: () => Promise<Done>, bytesOf: (done: Done) => number) => {
    const sinceMs = neighbors.now();
    const done = await work();
    const mostMs = leastMs + (bytesOf(done) / partBytes) * mostMsOfPart;
    budgets.charge(scope, Math.min(neighbors.now() - sinceMs, mostMs));
    return done;
  };
  // The account counts as waiting while the store works, and not while its client sends or reads.
  const inTurn = <Done>(scope: TurnCaller, work: () => Promise<Done>, bytesOf: (done: Done) => number) =>
    neighbors.during(scope, () =>
      neighbors.areShort(scope.accountId) ? parts.run(scope, () => charged(scope, work, bytesOf)) : work(),
    );
  const paced = (store: ContentStore): ContentStore => ({
    name: store.name,
    add: (scope, fileId, part, bytes) =>
      inTurn(
        scope,
        () => store.add(scope, fileId, part, bytes),
        () => bytes.length,
      ),
    read: (scope, fileId, part) =>
      inTurn(
        scope,
        () => store.read(scope, fileId, part),
        (bytes) => bytes?.length ?? 0,
      ),
    remove: (scope, fileId) => store.remove(scope, fileId),
  });
  return { ofNewFiles: paced(stores.ofNewFiles), of: (name) => paced(stores.of(name)) };
}

// On a slow machine work takes long because it waits for others, and forty parts of files must arrive within the minutes of a request.
const leastMs = 5;
const mostMsOfPart = 45;
