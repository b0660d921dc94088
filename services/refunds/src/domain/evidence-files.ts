import { Failure } from '@eligo/failures';
import { evidenceFileFields, isFileType } from '@eligo/values';

/** A file that a partner gives in a field of a dispute's evidence. */
export interface GivenFile {
  readonly field: string;
  readonly fileId: string;
  readonly type: string;
  readonly sizeBytes: number;
}

/** The processor's limit for all files of one dispute. */
export const maxEvidenceFileBytes = 4_500_000;

/**
 * Throws the 422 of the first file with which the files of the dispute are too large together, by the processor's limit: those given, and those that the
 * dispute has in other fields.
 */
export function assertFilesFit(given: readonly GivenFile[], keptBytes: number): void {
  let bytes = keptBytes;
  for (const { field, type, sizeBytes } of given) {
    if (!evidenceFileFields.includes(field) || !isFileType(type)) {
      throw invalidFile(field, 'invalid_value', 'Must be a PDF, PNG or JPEG in a field for files');
    }
    bytes += sizeBytes;
    if (bytes <= maxEvidenceFileBytes) continue;
    const text = `All files of a dispute must have at most ${maxEvidenceFileBytes} bytes together`;
    throw invalidFile(field, 'evidence_files_too_large', text);
  }
}

/** The 422 of a file in a field of evidence. */
export function invalidFile(field: string, type: string, message: string): Failure {
  return Failure.invalid(['body', 'dispute', 'evidence', field], type, message);
}
