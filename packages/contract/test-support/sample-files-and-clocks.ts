import { create } from '@bufbuild/protobuf';
import { TestClockSchema } from '@eligo/proto/billing/v1/billing';
import { newId } from '@eligo/values';
import type { FileRecord } from '../src/index.ts';

/** A file and a test clock with every field. */
export function sampleFilesAndClocks(at: { readonly createdAtMs: bigint; readonly testMode: boolean }) {
  const file: FileRecord = {
    fileId: newId('file'),
    purpose: 'dispute_evidence',
    filename: 'receipt ü.pdf',
    sizeBytes: 1_024,
    type: 'pdf',
    expiresAtMs: at.createdAtMs + 1n,
    ...at,
  };
  return {
    file,
    test_clock: create(TestClockSchema, {
      testClockId: newId('test_clock'),
      name: 'Clock',
      frozenTimeMs: at.createdAtMs,
      status: 'ready',
      createdAtMs: at.createdAtMs,
    }),
  };
}
