import type { ContentStore, ContentStores } from '../files/content-stores.ts';
import type { DearRequests } from './dear-requests.ts';
import type { Neighbors } from './neighbors.ts';
import type { TurnCaller } from './turn-caller.ts';

/** The stores of files, which store and read the parts of an account's files one at a time, with rests, while its neighbors are short of time. */
export function pacedStores(stores: ContentStores, neighbors: Neighbors, parts: DearRequests): ContentStores {
  const inTurn = <Done>(scope: TurnCaller, work: () => Promise<Done>) =>
    neighbors.areShort(scope.accountId) ? parts.run(scope, work) : work();
  const paced = (store: ContentStore): ContentStore => ({
    name: store.name,
    add: (scope, fileId, part, bytes) => inTurn(scope, () => store.add(scope, fileId, part, bytes)),
    read: (scope, fileId, part) => inTurn(scope, () => store.read(scope, fileId, part)),
    remove: (scope, fileId) => store.remove(scope, fileId),
  });
  return { ofNewFiles: paced(stores.ofNewFiles), of: (name) => paced(stores.of(name)) };
}
