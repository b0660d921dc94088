import { Failure, type Violation } from '@eligo/failures';
import type { Database } from '@eligo/postgres';
import { evidenceFileFields } from '@eligo/values';
import type { ApiRequest } from '../http/api-request.ts';
import type { Peers } from '../peers.ts';
import type { ContentStores } from './content-stores.ts';
import { findFile, type StoredFile } from './file-rows.ts';
import { readContent } from './read-content.ts';
import type { Transfers } from './transfers.ts';

/** What files of evidence are read with. */
export interface EvidenceFiles {
  readonly database: Database;
  readonly stores: ContentStores;
  readonly transfers: Transfers;
}

type Evidence = Readonly<Record<string, string | undefined>>;

/**
 * Hands the files that evidence names to refunds, one after the other and part by part, and has each uploaded to the processor. What is there already is not
 * sent again, so a repeated request goes on where the first one stopped. The deadline of `call` is that of the whole request.
 */
export async function giveEvidence(
  refunds: Peers['refunds'],
  files: EvidenceFiles,
  { key, id: disputeId, call }: Pick<ApiRequest<unknown, unknown>, 'key' | 'id' | 'call'>,
  evidence: Evidence,
): Promise<void> {
  const clearedFields = evidenceFileFields.filter((field) => evidence[field] === '');
  const { found, violations } = await findFiles(files.database, key, evidence);
  if (violations.length > 0) {
    // A path that names nothing goes before a body that is wrong.
    await refunds.getDispute({ id: disputeId }, call);
    throw Failure.violations(violations);
  }
  if (found.length === 0) return;
  const described = found.map(({ field, file }) => ({
    field,
    fileId: file.fileId,
    type: file.type,
    sizeBytes: file.sizeBytes,
  }));
  const begun = await refunds.beginEvidence({ disputeId, files: described, clearedFields }, call);
  const transfer = files.transfers.begin(key.accountId);
  try {
    for (const [at, { field, file }] of found.entries()) {
      const { isUploaded = true, parts = 0 } = begun.files[at] ?? {};
      if (isUploaded) continue;
      const name = { disputeId, field, fileId: file.fileId };
      let part = parts;
      for await (const bytes of readContent(files.stores, key, file, parts)) {
        transfer.moved(bytes.length);
        await refunds.addEvidencePart({ ...name, part, bytes }, call);
        part += 1;
      }
      await refunds.uploadEvidence(name, call);
    }
  } finally {
    transfer.end();
  }
}

// Each field of a file that is not there, is for something else, has expired or is another account's is a violation.
async function findFiles(
  database: Database,
  scope: ApiRequest<unknown, unknown>['key'],
  evidence: Evidence,
): Promise<{ found: { field: string; file: StoredFile }[]; violations: Violation[] }> {
  const found: { field: string; file: StoredFile }[] = [];
  const violations: Violation[] = [];
  for (const field of evidenceFileFields) {
    const fileId = evidence[field];
    if (fileId === undefined || fileId === '') continue;
    const file = await findFile(database, scope, fileId);
    if (file?.purpose === 'dispute_evidence') found.push({ field, file });
    else {
      const loc = ['body', 'dispute', 'evidence', field];
      violations.push({ loc, msg: `file_not_found: ${fileId}`, type: 'file_not_found' });
    }
  }
  return { found, violations };
}
