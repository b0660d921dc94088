import type { Database } from '@eligo/postgres';
import type { Job, Logger } from '@eligo/service';
import { type ContentStore, type ContentStores, storeNames } from './content-stores.ts';
import { type ExpiredFile, expiredFiles } from './file-rows.ts';
import { removeFile } from './remove-file.ts';

/** What one run reads of a store; a full page is followed by the next at once. */
const page = 100;
/** A call to a store that is down takes up to half a minute with its retries: then the store has its turn in the next run. */
const failuresInARow = 3;

/** Deletes the files whose time is over, and uploads that broke off. */
export function deleteExpiredFiles(files: {
  readonly database: Database;
  readonly stores: ContentStores;
  readonly logger: Logger;
}): Job {
  // Where the next run goes on in a store, so that files that cannot be deleted do not hold up those behind them.
  const reached = new Map<ContentStore['name'], ExpiredFile>();

  /** Deletes a page of a store. Answers whether there is more to do now. */
  async function deletePage(store: ContentStore['name'], signal: AbortSignal): Promise<boolean> {
    const expired = await expiredFiles(files.database, store, reached.get(store), page);
    reached.delete(store);
    let failed = 0;
    for (const file of expired) {
      if (signal.aborted) return false;
      const error = await removeFile(files, file, file.id).then(
        () => undefined,
        (cause: unknown) => ({ cause }),
      );
      failed = error === undefined ? 0 : failed + 1;
      if (failed === 1)
        files.logger.error({ err: error?.cause, store }, 'Failed to delete an expired file; will retry');
      if (failed === failuresInARow) {
        reached.set(store, file);
        return false;
      }
    }
    const last = expired.at(-1);
    if (last === undefined || expired.length < page) return false;
    reached.set(store, last);
    return true;
  }

  return {
    name: 'delete_expired_files',
    everyMs: 300_000,
    async run(signal) {
      let hasMore = false;
      for (const store of storeNames) hasMore = (await deletePage(store, signal)) || hasMore;
      return hasMore;
    },
  };
}
