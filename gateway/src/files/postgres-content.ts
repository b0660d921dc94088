import type { Database } from '@eligo/postgres';
import type { ContentStore } from './content-stores.ts';
import { addPart, findPart } from './file-rows.ts';

/** The gateway's own schema, where no object store is configured. */
export function postgresContent(database: Database): ContentStore {
  return {
    name: 'postgres',
    add: (scope, fileId, part, bytes) => addPart(database, scope, fileId, part, bytes),
    read: (scope, fileId, part) => findPart(database, scope, fileId, part),
    // Parts leave with the row of their file.
    remove: () => Promise.resolve(),
  };
}
