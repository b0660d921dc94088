import { notFoundCodeOf } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { Database, Scope } from '@eligo/postgres';
import type { ContentStores } from './content-stores.ts';
import { findFile, partBytes, type StoredFile } from './file-rows.ts';

/** The file. Throws `file_not_found`, also where it has expired or its upload has not ended. */
export async function readFile(database: Database, scope: Scope, id: string): Promise<StoredFile> {
  const file = await findFile(database, scope, id);
  if (file === undefined) throw new Failure(notFoundCodeOf('file'));
  return file;
}

/** The content of a file in parts of at most 1 MiB, from this part on, each read when it is asked for. Throws `file_not_found` where it is deleted meanwhile. */
export async function* readContent(
  stores: ContentStores,
  scope: Scope,
  { fileId, sizeBytes, store }: StoredFile,
  from = 0,
): AsyncGenerator<Buffer> {
  const content = stores.of(store);
  for (let part = from; part * partBytes < sizeBytes; part++) {
    const bytes = await content.read(scope, fileId, part);
    if (bytes === undefined) throw new Failure(notFoundCodeOf('file'));
    yield bytes;
  }
}
