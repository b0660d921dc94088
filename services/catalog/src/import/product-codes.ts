import { Failure } from '@eligo/failures';
import { type Database, withTx } from '@eligo/postgres';
import {
  beginImport,
  type ImportedVersion,
  publishStaged,
  type StagedCode,
  stageCodes,
} from '../store/product-code-import.ts';
import { csvRecords } from './csv-lines.ts';
import { type RowReader, rowReader } from './product-code-rows.ts';

/** What to import. */
export interface ProductCodeImport {
  readonly database: Database;
  /** The CSV as it arrives: a file's stream, standard input. */
  readonly source: AsyncIterable<Uint8Array | string>;
  /** Where the list comes from, as the version notes it. */
  readonly name: string;
  /** When the version takes effect; now, and never earlier than now or than the version before it. */
  readonly effectiveAt?: Date;
  /** Told after each batch, and once more when the comparison begins. */
  readonly onProgress?: (progress: ImportProgress) => void;
}

export interface ImportProgress {
  readonly phase: 'reading' | 'comparing';
  readonly bytes: number;
  readonly rows: number;
  readonly rejected: number;
}

/** What an import did. A rejected line keeps the others: its code is simply not on the list. */
export interface ProductCodeImportResult extends ImportedVersion {
  readonly rejected: number;
  /** The first hundred of them. */
  readonly rejections: readonly { readonly line: number; readonly reason: string }[];
}

/** Rows that go to the database at once: two megabytes or so, so that the next batch is read while the last one is stored. */
const batchRows = 20_000;
const rejectionsKept = 100;
/** The comparison of some millions of rows is one statement. */
const longestStatementMs = 600_000;
/** For an import that is about to end; one of millions takes longer. */
const longestWaitMs = 5_000;

/**
 * Makes a CSV the next version of the product-code list: the whole list, so that what it no longer holds ends. One transaction, so that a
 * list is imported or not; what is as it was is not touched, and a list that changes nothing makes no version.
 */
export async function importProductCodes(options: ProductCodeImport): Promise<ProductCodeImportResult> {
  try {
    return await importInOne(options);
  } catch (error) {
    // The lock of the import is all that it waits for.
    if (!(error instanceof Failure) || error.code !== 'lock_timeout') throw error;
    throw new Error('another import is in progress; start this import again when it has finished', { cause: error });
  }
}

function importInOne(options: ProductCodeImport): Promise<ProductCodeImportResult> {
  const { database, name, effectiveAt, onProgress } = options;
  return withTx(
    database,
    null,
    async (tx) => {
      await beginImport(tx);
      const reading = readList(options);
      let stored: Promise<void> = Promise.resolve();
      for await (const batch of reading.batches()) {
        await stored;
        stored = stageCodes(tx, batch);
        // Awaited at the next batch; until then a failure must not count as unhandled.
        stored.catch(() => undefined);
        onProgress?.(reading.progress('reading'));
      }
      await stored;
      onProgress?.(reading.progress('comparing'));
      const version = await publishStaged(tx, name, effectiveAt ?? null);
      return { ...version, rejected: reading.progress('comparing').rejected, rejections: reading.rejections };
    },
    { statementTimeoutMs: longestStatementMs, lockTimeoutMs: longestWaitMs },
  );
}

function firstOf([first]: readonly { readonly line: number; readonly reason: string }[]): string {
  return first === undefined ? '' : `; line ${first.line}: ${first.reason}`;
}

function readList({ source }: ProductCodeImport) {
  const rejections: { line: number; reason: string }[] = [];
  let bytes = 0;
  let rows = 0;
  let rejected = 0;

  async function* counted() {
    for await (const chunk of source) {
      bytes += typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.byteLength;
      yield chunk;
    }
  }

  async function* batches(): AsyncGenerator<StagedCode[]> {
    let read: RowReader | undefined;
    let batch: StagedCode[] = [];
    for await (const records of csvRecords(counted())) {
      for (const record of records) {
        if (read === undefined) {
          read = rowReader(record);
          continue;
        }
        const row = read(record);
        if (typeof row !== 'string') {
          rows += 1;
          batch.push(row);
        } else {
          rejected += 1;
          if (rejections.length < rejectionsKept) rejections.push({ line: record.line, reason: row });
        }
        if (batch.length < batchRows) continue;
        yield batch;
        batch = [];
      }
    }
    // A file without a line that counts is more likely a failed download, or another file, than a list that ends every code.
    if (read === undefined) throw new RangeError('the list is empty; its first line must have the column names');
    if (rows === 0)
      throw new RangeError(`the list contains no valid code, so nothing was changed${firstOf(rejections)}`);
    if (batch.length > 0) yield batch;
  }

  return { batches, rejections, progress: (phase: ImportProgress['phase']) => ({ phase, bytes, rows, rejected }) };
}
