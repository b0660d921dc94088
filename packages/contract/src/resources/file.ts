import { type FileType, fileTypes } from '@eligo/values';
import { z } from 'zod';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

/** What files are for: a document about the account itself, or one that a dispute is contested with. */
export const filePurposes = ['account_requirement', 'dispute_evidence'] as const;

/** A file as the gateway keeps it: without its content, which no JSON carries. */
export interface FileRecord {
  readonly fileId: string;
  readonly purpose: (typeof filePurposes)[number];
  readonly filename: string;
  readonly sizeBytes: number;
  readonly type: FileType;
  readonly testMode: boolean;
  readonly createdAtMs: bigint;
  readonly expiresAtMs: bigint;
}

export const fileSchema = z.strictObject({
  file_id: idOf('file'),
  purpose: z.enum(filePurposes),
  filename: z.string(),
  size: z.int(),
  type: z.enum(fileTypes),
  test_mode: z.boolean(),
  created_at: answer.time,
  expires_at: answer.time,
});

export function renderFile(file: FileRecord): z.infer<typeof fileSchema> {
  return {
    file_id: file.fileId,
    purpose: file.purpose,
    filename: file.filename,
    size: file.sizeBytes,
    type: file.type,
    test_mode: file.testMode,
    created_at: isoTime(file.createdAtMs),
    expires_at: isoTime(file.expiresAtMs),
  };
}
