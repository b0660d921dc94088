import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';

export const storeNames = ['postgres', 's3'] as const;

/** Where the content of files is kept, in parts of at most 1 MiB. */
export interface ContentStore {
  readonly name: (typeof storeNames)[number];
  /** Stores a part of an upload. */
  add(scope: Scope, fileId: string, part: number, bytes: Buffer): Promise<void>;
  /** A part of a file; undefined where it is not there. */
  read(scope: Scope, fileId: string, part: number): Promise<Buffer | undefined>;
  /** Deletes what is there of a file, before its row is deleted. */
  remove(scope: Scope, fileId: string): Promise<void>;
}

/** The stores of this installation: one takes new files, and each has the files that it took. */
export interface ContentStores {
  readonly ofNewFiles: ContentStore;
  /** The store that has a file. Throws `service_unavailable` for one that is not configured any more. */
  of(name: ContentStore['name']): ContentStore;
}

/** New files go to the object store where there is one; those that Postgres has stay there. */
export function contentStores(postgres: ContentStore, s3: ContentStore | undefined): ContentStores {
  return {
    ofNewFiles: s3 ?? postgres,
    of(name) {
      if (name === 'postgres') return postgres;
      if (s3 !== undefined) return s3;
      throw new Failure('service_unavailable', {
        retryAfterSeconds: 60,
        cause: new Error('The file is in an object store, and ELIGO_FILES_S3_URL is not set'),
      });
    },
  };
}
