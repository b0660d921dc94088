import { Failure } from '@eligo/failures';
import {
  type Database,
  type Db,
  isCheckViolation,
  type Scope,
  scoped,
  type Tx,
  unscoped,
  withTx,
} from '@eligo/postgres';
import { evidenceFileFields, newId } from '@eligo/values';
import { type GivenFile, invalidFile } from '../domain/evidence-files.ts';

/** One file in one field of a dispute's evidence. */
export interface EvidenceFileKey {
  readonly disputeId: string;
  readonly field: string;
  readonly fileId: string;
}

/** A file of evidence on its way to the processor, or there. */
export interface EvidenceFile extends GivenFile {
  /** Under which it is uploaded, so that the processor stores it once. */
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly processorFileId: string | undefined;
  /** Of a PDF, once they are counted. */
  readonly pages: number | undefined;
}

/**
 * Begins or resumes an upload and lets its content wait here for an hour: longer than any upload takes. Answers how many parts wait already, undefined
 * where the processor has the file. The caller holds the dispute's lock. Throws a 422 for the 101st file of a dispute.
 */
export async function beginEvidenceFile(
  tx: Tx,
  scope: Scope,
  disputeId: string,
  { field, fileId, type, sizeBytes }: GivenFile,
): Promise<number | undefined> {
  try {
    await tx.execute(insert, scope, [disputeId, field, fileId, type, sizeBytes, newId('request')]);
  } catch (error) {
    if (!isCheckViolation(error, 'evidence_files_of_a_dispute')) throw error;
    throw invalidFile(field, 'too_many_evidence_files', 'A dispute accepts at most 100 files');
  }
  if ((await tx.execute(wait, scope, [disputeId, field, fileId])) === 0) return undefined;
  return (await waitingContent(tx, scope, { disputeId, field, fileId })).parts;
}

/**
 * Stores a part of the content. A part that waits already stays, because files never change. Throws `service_unavailable` where no content is expected
 * any more: another request has uploaded the file, or its time to wait is over. A repeated request begins again.
 */
export async function addEvidencePart(
  tx: Tx,
  scope: Scope,
  { disputeId, field, fileId }: EvidenceFileKey,
  part: number,
  bytes: Uint8Array,
): Promise<void> {
  try {
    await tx.execute(insertPart, scope, [disputeId, field, fileId, part, bytes]);
  } catch (error) {
    if (!isCheckViolation(error, 'evidence_content_waits')) throw error;
    throw new Failure('service_unavailable', { retryAfterSeconds: 1, cause: error });
  }
}

/** How many parts of the content wait, and how many bytes they have. */
export async function waitingContent(
  db: Db,
  scope: Scope,
  { disputeId, field, fileId }: EvidenceFileKey,
): Promise<{ parts: number; bytes: number }> {
  return (await db.row(selectWaiting, scope, [disputeId, field, fileId])) ?? { parts: 0, bytes: 0 };
}

/** The content that waits, part by part. Throws where it was deleted meanwhile. */
export async function* readWaitingContent(
  database: Database,
  scope: Scope,
  { disputeId, field, fileId }: EvidenceFileKey,
  parts: number,
): AsyncGenerator<Buffer> {
  for (let part = 0; part < parts; part++) {
    const row = await database.row(selectPart, scope, [disputeId, field, fileId, part]);
    if (row === undefined) throw new Error('The content of a file of evidence was deleted');
    yield row.bytes;
  }
}

export async function findEvidenceFile(
  db: Db,
  scope: Scope,
  { disputeId, field, fileId }: EvidenceFileKey,
): Promise<EvidenceFile | undefined> {
  return (await findEvidenceFiles(db, scope, disputeId, { [field]: fileId })).get(field);
}

/** The files of a dispute that this evidence names, by their fields. */
export async function findEvidenceFiles(
  db: Db,
  scope: Scope,
  disputeId: string,
  evidence: Readonly<Record<string, string>>,
): Promise<Map<string, EvidenceFile>> {
  const named = Object.entries(evidence).filter(([field]) => evidenceFileFields.includes(field));
  if (named.length === 0) return new Map();
  const rows = await db.rows(select, scope, [
    disputeId,
    named.map(([field]) => field),
    named.map(([, fileId]) => fileId),
  ]);
  return new Map(
    rows.map((row) => [
      row.field,
      {
        ...{ field: row.field, fileId: row.file_id, type: row.type, sizeBytes: row.size_bytes, attempt: row.attempt },
        idempotencyKey: `${row.upload_key}-${row.attempt}`,
        processorFileId: row.processor_file_id ?? undefined,
        pages: row.pages ?? undefined,
      },
    ]),
  );
}

/** Notes how many pages a file has, before it is uploaded. */
export async function savePages(database: Database, scope: Scope, key: EvidenceFileKey, pages: number): Promise<void> {
  const { disputeId, field, fileId } = key;
  await withTx(database, scope, (tx) => tx.execute(savePageCount, scope, [disputeId, field, fileId, pages]));
}

/** Notes that the processor has the file, and deletes the content here. */
export async function saveUploadedFile(
  database: Database,
  scope: Scope,
  key: EvidenceFileKey,
  processorFileId: string,
): Promise<void> {
  const { disputeId, field, fileId } = key;
  await withTx(database, scope, async (tx) => {
    await tx.execute(save, scope, [disputeId, field, fileId, processorFileId]);
    await tx.execute(removeParts, scope, [disputeId, field, fileId]);
  });
}

/** Has the next upload use another key, unless another process has seen to it. */
export async function useNextKey(
  database: Database,
  scope: Scope,
  { disputeId, field, fileId }: EvidenceFileKey,
  attempt: number,
): Promise<void> {
  await withTx(database, scope, (tx) => tx.execute(advance, scope, [disputeId, field, fileId, attempt]));
}

/** Deletes content that waits; the row stays, so that the file can be given again. */
export async function clearContent(database: Database, scope: Scope, key: EvidenceFileKey): Promise<void> {
  const { disputeId, field, fileId } = key;
  await withTx(database, scope, async (tx) => {
    await tx.execute(clear, scope, [disputeId, field, fileId]);
    await tx.execute(removeParts, scope, [disputeId, field, fileId]);
  });
}

/** Deletes content that has waited for too long, unless a repeated request lets it wait again. */
export async function clearStaleContent(database: Database, scope: Scope, key: EvidenceFileKey): Promise<void> {
  const { disputeId, field, fileId } = key;
  await withTx(database, scope, async (tx) => {
    if ((await tx.execute(clearStale, scope, [disputeId, field, fileId])) === 0) return;
    await tx.execute(removeParts, scope, [disputeId, field, fileId]);
  });
}

/** Content of all accounts that has waited for too long. */
export async function staleContent(
  database: Database,
  most: number,
): Promise<{ scope: Scope; key: EvidenceFileKey }[]> {
  const rows = await database.rows(selectStale, null, [most]);
  return rows.map((row) => ({
    scope: { accountId: row.account_id, testMode: row.test_mode },
    key: { disputeId: row.dispute_id, field: row.field, fileId: row.file_id },
  }));
}

/** Which of our files the processor has under these names, for one dispute. */
export async function filesAtProcessor(
  db: Db,
  scope: Scope,
  disputeId: string,
  processorFileIds: readonly string[],
): Promise<Map<string, string>> {
  if (processorFileIds.length === 0) return new Map();
  const rows = await db.rows(selectAtProcessor, scope, [disputeId, processorFileIds]);
  return new Map(rows.map((row) => [row.processor_file_id, row.file_id]));
}

const one = 'account_id = $1 and test_mode = $2 and dispute_id = $3 and field = $4 and file_id = $5';

const insert = scoped<never>(
  'evidence_files.begin',
  `insert into refunds.evidence_files (account_id, test_mode, dispute_id, field, file_id, type, size_bytes, upload_key)
   select $1, $2, $3, $4, $5, $6, $7, $8
    where not exists (select from refunds.evidence_files where ${one})`,
);
const wait = scoped<never>(
  'evidence_files.wait',
  `update refunds.evidence_files set content_until = clock_timestamp() + interval '1 hour' where ${one} and processor_file_id is null`,
);
const select = scoped<{
  field: string;
  file_id: string;
  type: string;
  size_bytes: number;
  upload_key: string;
  attempt: number;
  processor_file_id: string | null;
  pages: number | null;
}>(
  'evidence_files.get',
  `select f.field, f.file_id, f.type, f.size_bytes, f.upload_key, f.attempt, f.processor_file_id, f.pages
     from unnest($4::text[], $5::text[]) named (field, file_id)
     join refunds.evidence_files f on f.account_id = $1 and f.test_mode = $2 and f.dispute_id = $3 and f.field = named.field and f.file_id = named.file_id`,
);
const save = scoped<never>(
  'evidence_files.save',
  `update refunds.evidence_files set processor_file_id = $6, content_until = null where ${one} and processor_file_id is null`,
);
const savePageCount = scoped<never>(
  'evidence_files.save_pages',
  `update refunds.evidence_files set pages = $6 where ${one} and processor_file_id is null`,
);
const advance = scoped<never>(
  'evidence_files.use_next_key',
  `update refunds.evidence_files set attempt = attempt + 1 where ${one} and attempt = $6 and processor_file_id is null`,
);
const clear = scoped<never>(
  'evidence_files.clear',
  `update refunds.evidence_files set content_until = null where ${one} and processor_file_id is null`,
);
const clearStale = scoped<never>(
  'evidence_files.clear_stale',
  `update refunds.evidence_files set content_until = null where ${one} and content_until <= now()`,
);
const insertPart = scoped<never>(
  'evidence_files.add_part',
  `insert into refunds.evidence_parts (account_id, test_mode, dispute_id, field, file_id, part, bytes)
   values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
);
const removeParts = scoped<never>('evidence_files.remove_parts', `delete from refunds.evidence_parts where ${one}`);
const selectPart = scoped<{ bytes: Buffer }>(
  'evidence_files.part',
  `select bytes from refunds.evidence_parts where ${one} and part = $6`,
);
const selectWaiting = scoped<{ parts: number; bytes: number }>(
  'evidence_files.waiting',
  `select count(*)::int as parts, coalesce(sum(length(bytes)), 0)::int as bytes from refunds.evidence_parts where ${one}`,
);
const selectAtProcessor = scoped<{ processor_file_id: string; file_id: string }>(
  'evidence_files.at_processor',
  `select processor_file_id, file_id from refunds.evidence_files
    where account_id = $1 and test_mode = $2 and dispute_id = $3 and processor_file_id = any($4::text[])`,
);
const selectStale = unscoped<{
  account_id: string;
  test_mode: boolean;
  dispute_id: string;
  field: string;
  file_id: string;
}>('evidence_files.stale', 'select account_id, test_mode, dispute_id, field, file_id from refunds.stale_evidence($1)');
