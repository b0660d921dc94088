import type { ContentStore, ContentStores } from '../files/content-stores.ts';
import type { DearRequests } from './dear-requests.ts';
import type { Neighbors } from './neighbors.ts';

/** The stores of files, which store and read the parts of an account's files one at a time, with rests, while its neighbors are short of time. */
export function pacedStores(stores: ContentStores, neighbors: Neighbors, parts: DearRequests): ContentStores {
  const paced = (store: ContentStore): ContentStore => ({
    name: store.name,
    add(scope, fileId, part, bytes) {
      const add = () => store.add(scope, fileId, part, bytes);
      return neighbors.areShort(scope.accountId) ? parts.run(scope, add) : add();
    },
    read(scope, fileId, part) {
      const read = () => store.read(scope, fileId, part);
      return neighbors.areShort(scope.accountId) ? parts.run(scope, read) : read();
    },
    remove: (scope, fileId) => store.remove(scope, fileId),
  });
  return { ofNewFiles: paced(stores.ofNewFiles), of: (name) => paced(stores.of(name)) };
}
