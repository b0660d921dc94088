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

/** The processor's limit for the pages of all files of one dispute; the bank's network may have a lower one. */
export const maxEvidencePages = 50;

/**
 * Throws the 422 of the first file, of those given, with which the files of the dispute have too many pages together. An image is a page, and so is a file of an
 * earlier release, whose pages were not counted.
 */
export function assertPagesFit(
  files: ReadonlyMap<string, { readonly pages: number | undefined }>,
  given: Readonly<Record<string, string>>,
): void {
  let pages = 0;
  for (const [field, file] of files) if (given[field] === undefined) pages += file.pages ?? 1;
  for (const [field, file] of files) {
    if (given[field] === undefined) continue;
    pages += file.pages ?? 1;
    if (pages > maxEvidencePages) throw tooManyPages(field);
  }
}

/** The 422 of a file with which a dispute has too many pages. */
export function tooManyPages(field: string): Failure {
  const text = `All files of a dispute must have at most ${maxEvidencePages} pages together`;
  return invalidFile(field, 'evidence_too_many_pages', text);
}

/** The 422 of a PDF whose pages cannot be counted. */
export function uncountable(field: string, why: 'encrypted' | 'unreadable'): Failure {
  return why === 'encrypted'
    ? invalidFile(field, 'evidence_file_encrypted', 'The PDF is encrypted; save it without a password and restrictions')
    : invalidFile(field, 'evidence_file_unreadable', 'The PDF is damaged: its pages cannot be found; save it again');
}

/** The 422 of a file in a field of evidence. */
export function invalidFile(field: string, type: string, message: string): Failure {
  return Failure.invalid(['body', 'dispute', 'evidence', field], type, message);
}
