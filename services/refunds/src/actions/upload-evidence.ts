import { Failure } from '@eligo/failures';
import { countPdfPages } from '@eligo/pdf/page-count';
import { type Scope, withTx } from '@eligo/postgres';
import type { FileContent, ProcessorPort } from '@eligo/processor';
import type { Call } from '@eligo/rpc';
import { oneAtATime } from '@eligo/service';
import { evidenceFileFields, isFileType, mediaTypes } from '@eligo/values';
import type { Context } from '../context.ts';
import { assertEditable } from '../domain/dispute.ts';
import {
  assertFilesFit,
  assertPagesFit,
  type GivenFile,
  invalidFile,
  maxEvidencePages,
  tooManyPages,
  uncountable,
} from '../domain/evidence-files.ts';
import { findDispute, lockDispute, processorDisputeOf } from '../store/disputes.ts';
import {
  beginEvidenceFile,
  clearContent,
  type EvidenceFile,
  type EvidenceFileKey,
  findEvidenceFile,
  findEvidenceFiles,
  readWaitingContent,
  savePages,
  saveUploadedFile,
  useNextKey,
  waitingContent,
} from '../store/evidence-files.ts';

/** The files that one request gives, and the fields that it clears. */
export interface GivenEvidence {
  readonly files: readonly GivenFile[];
  readonly clearedFields: readonly string[];
}

/**
 * Begins the uploads of files in a dispute's evidence, and answers for each how many parts of its content are here; undefined where the processor has the
 * file. Throws `dispute_not_open`, and a 422 that names the field: after the deadline, or for files beyond the processor's limits.
 */
export async function beginEvidence(
  context: Context,
  scope: Scope,
  disputeId: string,
  { files, clearedFields }: GivenEvidence,
): Promise<(number | undefined)[]> {
  await portOf(context, scope, disputeId);
  return withTx(context.database, scope, async (tx) => {
    const dispute = await lockDispute(tx, scope, disputeId);
    if (dispute === undefined) throw new Failure('dispute_not_found');
    assertEditable(dispute, 'evidence');
    const replaced = new Set([...clearedFields, ...files.map(({ field }) => field)]);
    const kept = Object.fromEntries(Object.entries(dispute.evidence).filter(([field]) => !replaced.has(field)));
    const keptFiles = await findEvidenceFiles(tx, scope, disputeId, kept);
    let keptBytes = 0;
    for (const { sizeBytes } of keptFiles.values()) keptBytes += sizeBytes;
    assertFilesFit(files, keptBytes);
    const begun: (number | undefined)[] = [];
    for (const file of files) begun.push(await beginEvidenceFile(tx, scope, disputeId, file));
    return begun;
  });
}

/**
 * Uploads a file to the processor once its content is here. A file that the processor has is not sent again: after a crash or a lost answer the same key
 * finds it. Throws a 422 that names the field where the processor refuses the file.
 */
export async function uploadEvidence(
  context: Context,
  scope: Scope,
  key: EvidenceFileKey,
  call: Pick<Call, 'timeoutMs'>,
): Promise<void> {
  const { database } = context;
  const [port, file, waiting] = await Promise.all([
    portOf(context, scope, key.disputeId),
    findEvidenceFile(database, scope, key),
    waitingContent(database, scope, key),
  ]);
  if (file?.processorFileId !== undefined) return;
  if (file === undefined || waiting.bytes !== file.sizeBytes) throw unavailable();
  await countPages(context, scope, key, file, waiting.parts);
  const outcome = await port.uploadEvidence(contentOf(context, scope, key, file, waiting.parts), {
    ...{ idempotencyKey: file.idempotencyKey, timeoutMs: Math.min(uploadTimeoutMs, call.timeoutMs()) },
  });
  await context.failpoint('evidence.after_upload');
  if (outcome.kind === 'stored') {
    await saveUploadedFile(database, scope, key, outcome.fileId);
    await context.failpoint('evidence.after_save');
    return;
  }
  if (outcome.kind === 'rejected') {
    await useNextKey(database, scope, key, file.attempt);
    if (outcome.status === 400) {
      await clearContent(database, scope, key);
      throw invalidFile(key.field, 'evidence_file_refused', 'The processor rejected this file');
    }
    context.logger.warn(
      { disputeId: key.disputeId, code: outcome.code },
      'Processor rejected an evidence upload; check its credentials and account',
    );
  }
  // The processor keeps its error under the key, so the file is not there, or is there and cannot be found: another key stores it.
  if (outcome.kind === 'unknown' && outcome.replayed) await useNextKey(database, scope, key, file.attempt);
  throw unavailable();
}

// What is refused is deleted here: the same file is refused again.
async function countPages(
  { database }: Context,
  scope: Scope,
  key: EvidenceFileKey,
  file: EvidenceFile,
  parts: number,
): Promise<void> {
  if (file.type !== 'pdf' || file.pages !== undefined) return;
  const pages = await onePdfAtATime(async () => {
    // At most the 4.5 MB that all files of a dispute may have.
    const content: Buffer[] = [];
    for await (const part of readWaitingContent(database, scope, key, parts)) content.push(part);
    return countPdfPages(Buffer.concat(content), maxEvidencePages);
  });
  if (typeof pages === 'number' && pages <= maxEvidencePages) return savePages(database, scope, key, pages);
  await clearContent(database, scope, key);
  throw typeof pages === 'number' ? tooManyPages(key.field) : uncountable(key.field, pages);
}

// A hostile PDF takes up to 70 MB and 0.1 s: sixteen at the same time would take all memory that the process has.
const onePdfAtATime = oneAtATime();

/**
 * Throws the 422 of the first file with which the dispute would have too many pages: with those that it keeps in other fields.
 */
export async function assertEvidencePagesFit(
  { database }: Context,
  scope: Scope,
  disputeId: string,
  evidence: Readonly<Record<string, string>>,
): Promise<void> {
  if (!evidenceFileFields.some((field) => evidence[field])) return;
  const kept = (await findDispute(database, scope, disputeId))?.evidence ?? {};
  assertPagesFit(await findEvidenceFiles(database, scope, disputeId, { ...kept, ...evidence }), evidence);
}

/** The evidence as the processor takes it: files by its names for them. Throws `service_unavailable` for a file that was not uploaded. */
export async function evidenceAtProcessor(
  { database }: Context,
  scope: Scope,
  disputeId: string,
  evidence: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const given = Object.fromEntries(Object.entries(evidence).filter(([, value]) => value !== ''));
  const files = await findEvidenceFiles(database, scope, disputeId, given);
  const entries = Object.entries(evidence).map(([field, value]): [string, string] => {
    if (!evidenceFileFields.includes(field) || value === '') return [field, value];
    const processorFileId = files.get(field)?.processorFileId;
    if (processorFileId === undefined) throw unavailable();
    return [field, processorFileId];
  });
  return Object.fromEntries(entries);
}

/** One upload leaves the other calls of its request a second of the 9.2 that they share. */
const uploadTimeoutMs = 8_000;

async function portOf(context: Context, scope: Scope, disputeId: string): Promise<ProcessorPort> {
  const names = await processorDisputeOf(context.database, scope, disputeId);
  if (names === undefined) throw new Failure('dispute_not_found');
  const port = context.processors.at(scope, names.processorAccount);
  if (port.isDown()) throw unavailable();
  return port;
}

// The partner's name of the file stays here: it may name a shopper.
function contentOf(
  { database }: Context,
  scope: Scope,
  key: EvidenceFileKey,
  { fileId, type, sizeBytes }: EvidenceFile,
  parts: number,
): FileContent {
  return {
    ...{ name: `${fileId}.${type}`, mediaType: isFileType(type) ? mediaTypes[type] : '', sizeBytes },
    pieces: () => readWaitingContent(database, scope, key, parts),
  };
}

function unavailable(): Failure {
  return new Failure('service_unavailable', { retryAfterSeconds: 1 });
}
