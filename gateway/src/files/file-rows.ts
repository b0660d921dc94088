import type { FileRecord } from '@eligo/contract';
import { type Database, type Scope, scoped, unscoped, withTx } from '@eligo/postgres';
import type { ContentStore } from './content-stores.ts';

/** A file with the name of the store that has its content. */
export interface StoredFile extends FileRecord {
  readonly store: ContentStore['name'];
}

/** The length of a stored part; the last one of a file may be shorter. */
export const partBytes = 1_048_576;

/** Begins an upload; nothing finds it before it is stored. An upload that breaks off is deleted when this time is over. */
export async function beginFile(
  database: Database,
  scope: Scope,
  id: string,
  store: ContentStore['name'],
): Promise<void> {
  await withTx(database, scope, (tx) => tx.execute(insertFile, scope, [id, receivingSeconds, store]));
}

export async function addPart(database: Database, scope: Scope, id: string, part: number, bytes: Buffer) {
  await withTx(database, scope, (tx) => tx.execute(insertPart, scope, [id, part, bytes]));
}

/** Ends an upload: from now on the file is there, whole. Throws the violation of `files_within_quota` where the account may store no more. */
export async function storeFile(
  database: Database,
  scope: Scope,
  file: Pick<FileRecord, 'fileId' | 'purpose' | 'filename' | 'type' | 'sizeBytes'> & { readonly expiresAt: Date },
): Promise<StoredFile> {
  const { fileId, purpose, filename, type, sizeBytes, expiresAt } = file;
  const values = [fileId, purpose, filename, type, sizeBytes, expiresAt];
  const row = await withTx(database, scope, (tx) => tx.row(updateFile, scope, values));
  if (row === undefined) throw new Error('An upload was deleted before it ended');
  return fromRow(row);
}

/** The store that has a file, or what has arrived of it; undefined where there is no row. */
export async function findStore(
  database: Database,
  scope: Scope,
  id: string,
): Promise<ContentStore['name'] | undefined> {
  return (await database.row(selectStore, scope, [id]))?.store;
}

/** Deletes the row of a file, with its parts in Postgres. */
export async function deleteFile(database: Database, scope: Scope, id: string): Promise<void> {
  await withTx(database, scope, (tx) => tx.execute(remove, scope, [id]));
}

/** The file, unless it has expired. */
export async function findFile(database: Database, scope: Scope, id: string): Promise<StoredFile | undefined> {
  const row = await database.row(select, scope, [id]);
  return row && fromRow(row);
}

/** One part of a file that is stored. */
export async function findPart(
  database: Database,
  scope: Scope,
  id: string,
  part: number,
): Promise<Buffer | undefined> {
  const pieces = await database.rows(selectPart, scope, [id, part]);
  if (pieces.length === 0) return undefined;
  const bytes = Buffer.allocUnsafe(partBytes);
  let length = 0;
  for (const { piece } of pieces) length += bytes.write(piece, length, 'base64');
  return bytes.subarray(0, length);
}

/** A file whose time is over, or what is left of an upload. */
export interface ExpiredFile extends Scope {
  readonly id: string;
  readonly expiresAt: Date;
}

/** A page of the files of all accounts in this store whose time is over, the oldest first, behind this one. */
export async function expiredFiles(
  database: Database,
  store: ContentStore['name'],
  after: ExpiredFile | undefined,
  most: number,
): Promise<ExpiredFile[]> {
  const values = [store, after?.expiresAt ?? '-infinity', after?.id ?? '', most];
  const rows = await database.rows(selectExpired, null, values);
  return rows.map(({ account_id: accountId, test_mode: testMode, id, expires_at: expiresAt }) => ({
    ...{ accountId, testMode, id, expiresAt },
  }));
}

/** Longer than any upload is waited for. */
const receivingSeconds = 900;

interface FileRow {
  readonly id: string;
  readonly test_mode: boolean;
  readonly purpose: FileRecord['purpose'];
  readonly filename: string;
  readonly type: FileRecord['type'];
  readonly size_bytes: number;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly store: ContentStore['name'];
}

function fromRow(row: FileRow): StoredFile {
  return {
    fileId: row.id,
    purpose: row.purpose,
    filename: row.filename,
    type: row.type,
    sizeBytes: row.size_bytes,
    store: row.store,
    testMode: row.test_mode,
    createdAtMs: BigInt(row.created_at.getTime()),
    expiresAtMs: BigInt(row.expires_at.getTime()),
  };
}

const columns = 'id, test_mode, purpose, filename, type, size_bytes, created_at, expires_at, store';

const insertFile = scoped(
  'files.begin',
  `insert into files (account_id, test_mode, id, expires_at, store) values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4), $5)`,
);
const insertPart = scoped(
  'files.add_part',
  `insert into file_parts (account_id, test_mode, file_id, part, bytes) values ($1, $2, $3, $4, $5)`,
);
const updateFile = scoped<FileRow>(
  'files.store',
  `update files set state = 'stored', purpose = $4, filename = $5, type = $6, size_bytes = $7, expires_at = $8
   where account_id = $1 and test_mode = $2 and id = $3 and state = 'receiving' returning ${columns}`,
);
const remove = scoped('files.delete', 'delete from files where account_id = $1 and test_mode = $2 and id = $3');
const selectStore = scoped<{ store: ContentStore['name'] }>(
  'files.store_of',
  'select store from files where account_id = $1 and test_mode = $2 and id = $3',
);
const select = scoped<FileRow>(
  'files.find',
  `select ${columns} from files
   where account_id = $1 and test_mode = $2 and id = $3 and state = 'stored' and expires_at > now()`,
);
// Bytes travel as text: 2 MiB of hexadecimal for a part, for which the driver doubles its buffer six times while they arrive. In Base64 it is 1.4 MiB, and in pieces
// that fit one read of a socket the buffer stays small.
const pieceBytes = 47_616;
const selectPart = scoped<{ piece: string }>(
  'files.find_part',
  `select encode(substring(whole.bytes from start + 1 for ${pieceBytes}), 'base64') as piece
   from file_parts whole cross join generate_series(0, octet_length(whole.bytes) - 1, ${pieceBytes}) as start
   where whole.account_id = $1 and whole.test_mode = $2 and whole.file_id = $3 and whole.part = $4 order by start`,
);
const selectExpired = unscoped<{ account_id: string; test_mode: boolean; id: string; expires_at: Date }>(
  'files.expired',
  'select account_id, test_mode, id, expires_at from gateway.expired_files_of_store($1, $2, $3, $4)',
);
