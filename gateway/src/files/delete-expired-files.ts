import type { Database } from '@eligo/postgres';
import type { Job, Logger } from '@eligo/service';
import type { ContentStores } from './content-stores.ts';
import { expiredFiles } from './file-rows.ts';
import { removeFile } from './remove-file.ts';

/** A page of files of 10 MB is deleted within a second; a full page is followed by the next at once. */
const page = 100;

/** Deletes the files whose time is over, and uploads that broke off. */
export function deleteExpiredFiles(files: {
  readonly database: Database;
  readonly stores: ContentStores;
  readonly logger: Logger;
}): Job {
  return {
    name: 'delete_expired_files',
    everyMs: 300_000,
    async run(signal) {
      const expired = await expiredFiles(files.database, page);
      let failed = 0;
      for (const { id, ...scope } of expired) {
        if (signal.aborted) return false;
        // An object store that does not answer must not keep files elsewhere.
        await removeFile(files, scope, id).catch((err: unknown) => {
          failed += 1;
          if (failed === 1) files.logger.error({ err }, 'Failed to delete an expired file; will retry');
        });
      }
      return failed === 0 && expired.length === page;
    },
  };
}
