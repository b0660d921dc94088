import type { Database, Scope } from '@eligo/postgres';
import type { ContentStores } from './content-stores.ts';
import { deleteFile, findStore } from './file-rows.ts';

interface FilePlaces {
  readonly database: Database;
  readonly stores: ContentStores;
}

/**
 * Deletes a file, or what an upload left: first its content, then the row by which the job finds what is left of a file. So a process that stops in between
 * leaves nothing for good.
 */
export async function removeFile({ database, stores }: FilePlaces, scope: Scope, fileId: string): Promise<void> {
  const store = await findStore(database, scope, fileId);
  if (store === undefined) return;
  await stores.of(store).remove(scope, fileId);
  await deleteFile(database, scope, fileId);
}

/**
 * Deletes what a failed upload left. In an object store, a part that was given up may still arrive: there the row stays until the job deletes the file, long
 * after the last call has ended.
 */
export async function discardUpload(files: FilePlaces, scope: Scope, fileId: string): Promise<void> {
  const { ofNewFiles } = files.stores;
  if (ofNewFiles.name === 'postgres') await removeFile(files, scope, fileId);
  else if ((await findStore(files.database, scope, fileId)) !== undefined) await ofNewFiles.remove(scope, fileId);
}
