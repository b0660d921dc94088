import type { IncomingMessage } from 'node:http';
import { type FileRecord, limits, parseTime, type RouteBody, screen, violationsOf } from '@eligo/contract';
import { Failure, type Violation } from '@eligo/failures';
import { type Database, isCheckViolation, type Scope } from '@eligo/postgres';
import { freeBytes, newId } from '@eligo/values';
import type { z } from 'zod';
import { joinedChunks } from '../http/joined-chunks.ts';
import { type FormPart, formHeadersOf, readMultipart } from '../http/multipart.ts';
import type { ContentStores } from './content-stores.ts';
import { beginFile, partBytes, storeFile } from './file-rows.ts';
import { fileTypeOf, isDeclaredAs } from './file-type.ts';
import { discardUpload } from './remove-file.ts';
import type { Scan, Scanner } from './scanner.ts';
import type { Transfer } from './transfers.ts';

/** What receives files. */
export interface FileReceiver {
  readonly database: Database;
  readonly stores: ContentStores;
  readonly scanner: Scanner | undefined;
}

/** The body of an upload, as its route declares it. */
type UploadBody = RouteBody<z.ZodType<{ purpose: FileRecord['purpose']; expires_at?: string | number | undefined }>>;

/** A part of an upload that has arrived: all but its description is stored. */
interface Received {
  readonly fileId: string;
  readonly filename: string;
  readonly type: FileRecord['type'];
  readonly sizeBytes: number;
}

/**
 * Receives the file of a request, part by part. A part of 1 MiB is in memory, twice while it is stored. No transaction waits for the client. Only an
 * upload that ends well leaves anything behind; the file of any other is deleted before the refusal, or by the job after a crash.
 */
export async function receiveFile(
  receiver: FileReceiver,
  scope: Scope,
  request: IncomingMessage,
  body: UploadBody,
  transfer: Pick<Transfer, 'moved'>,
): Promise<FileRecord> {
  const headers = formHeadersOf(request.headers);
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) throw new Failure('file_too_large');
  const fileId = newId('file');
  const fields: Record<string, string> = {};
  let received: Received | undefined;
  let isStored = false;
  try {
    for await (const part of readMultipart(chunksOf(request), headers)) {
      if (part.name !== body.file) Object.defineProperty(fields, part.name, own(await textOf(part)));
      else if (received === undefined) received = await receivePart(receiver, scope, fileId, part, transfer);
      else throw Failure.invalid(['body', body.file], 'too_long', 'Must be one file');
    }
    const described = describe(fields, received, body);
    const file = await storeFile(receiver.database, scope, { ...described, expiresAt: expiryOf(described.expires_at) });
    isStored = true;
    return file;
  } catch (error) {
    throw isCheckViolation(causeOf(error), 'files_within_quota') ? new Failure('file_storage_full') : error;
  } finally {
    // The job deletes what cannot be deleted now.
    if (!isStored) await discardUpload(receiver, scope, fileId).catch(() => undefined);
  }
}

/** A form may be 64 KiB longer than its file: its fields and headers. */
const mostBytes = limits.fileBytes + 65_536;
const fieldBytes = 1_024;
const filenameLength = 255;

// A chunked body states no length, and what stands before, between and after its parts counts for no part.
function chunksOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  let size = 0;
  const arrived = (bytes: number) => {
    size += bytes;
    if (size > mostBytes) throw new Failure('file_too_large');
  };
  return joinedChunks(request, { arrived, broken: 'invalid_multipart' });
}

// A field of any name is a property, also `__proto__`, which screening then refuses.
function own(value: string): PropertyDescriptor {
  return { value, enumerable: true, writable: true, configurable: true };
}

async function textOf({ name, body }: FormPart): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > fieldBytes) throw Failure.invalid(fieldLoc(name), 'too_long', `Must have at most ${fieldBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

// A name that is no plain word is not echoed.
function fieldLoc(name: string): string[] {
  return /^\w{1,40}$/.test(name) ? ['body', name] : ['body'];
}

async function receivePart(
  receiver: FileReceiver,
  scope: Scope,
  fileId: string,
  part: FormPart,
  transfer: Pick<Transfer, 'moved'>,
): Promise<Received> {
  const scan = await receiver.scanner?.begin();
  try {
    const content = await storeParts(receiver, scope, fileId, part, transfer, scan);
    await scan?.verdict();
    return { fileId, filename: filenameOf(part.filename, content.type), ...content };
  } finally {
    scan?.abandon();
  }
}

async function storeParts(
  { database, stores }: FileReceiver,
  scope: Scope,
  fileId: string,
  part: FormPart,
  transfer: Pick<Transfer, 'moved'>,
  scan: Scan | undefined,
): Promise<Pick<Received, 'type' | 'sizeBytes'>> {
  let sizeBytes = 0;
  let parts = 0;
  let type: FileRecord['type'] | undefined;
  const store = stores.ofNewFiles;
  for await (const bytes of inParts(part.body)) {
    sizeBytes += bytes.length;
    if (sizeBytes > limits.fileBytes) throw new Failure('file_too_large');
    if (type === undefined) {
      type = judgeType(bytes, part.type);
      await beginFile(database, scope, fileId, store.name);
    }
    transfer.moved(bytes.length);
    // The scanner takes it when it likes.
    await scan?.write(Buffer.from(bytes));
    await store.add(scope, fileId, parts, bytes);
    parts += 1;
  }
  if (type === undefined) throw Failure.invalid(['body', part.name], 'too_short', 'Must not be empty');
  return { type, sizeBytes };
}

/** A file of a few kilobytes takes no buffer of a whole part. */
const smallBytes = 65_536;

// Each part is valid until the next one is asked for. A buffer for each part has the garbage collected after every other upload, which takes longer than the copy.
async function* inParts(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let part = Buffer.allocUnsafeSlow(smallBytes);
  let length = 0;
  let before: Buffer | undefined;
  for await (const chunk of chunks) {
    // All of a chunk has been copied when the next one arrives.
    if (before !== undefined && before.buffer !== chunk.buffer) freeBytes(before);
    before = chunk;
    if (part.length < partBytes && length + chunk.length > part.length) {
      const larger = Buffer.allocUnsafeSlow(partBytes);
      part.copy(larger, 0, 0, length);
      part = larger;
    }
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(part, length, at);
      at += copied;
      length += copied;
      if (length < partBytes) continue;
      yield part;
      length = 0;
    }
  }
  if (length > 0) yield part.subarray(0, length);
}

function judgeType(begins: Buffer, declared: string): FileRecord['type'] {
  const type = fileTypeOf(begins);
  const code =
    type === undefined ? 'file_type_not_supported' : isDeclaredAs(declared, type) ? undefined : 'file_type_mismatch';
  if (type === undefined || code !== undefined) {
    const refusal = code ?? 'file_type_not_supported';
    throw Failure.invalid(['body', 'file'], refusal, refusal);
  }
  return type;
}

// A name alone, without folders and control characters, which downloads are saved under.
function filenameOf(given: string | undefined, type: FileRecord['type']): string {
  const last = (given ?? '').split(/[/\\]/).at(-1) ?? '';
  const plain = last.replace(/[\p{Cc}\p{Bidi_Control}]/gu, '').trim();
  const short = [...plain].slice(0, filenameLength).join('');
  return short === '' || /^\.+$/.test(short) ? `file.${type}` : short;
}

function describe(fields: Record<string, string>, received: Received | undefined, body: UploadBody) {
  const refused = screen({ ...fields, ...(received && { [body.file ?? 'file']: received.filename }) }, 'body');
  if (refused !== undefined) throw Failure.violations([refused]);
  const judged = body.schema.safeParse(fields);
  const violations: Violation[] = judged.success ? [] : violationsOf(judged.error, 'body', [], fields);
  if (received === undefined) violations.push({ loc: ['body', 'file'], msg: 'File required', type: 'missing' });
  if (violations.length > 0 || !judged.success || received === undefined) throw Failure.violations(violations);
  return { ...judged.data, ...received };
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A dispute of a charge ends within months of it. */
const usualExpiryMs = 365 * dayMs;
const longestExpiryMs = 3 * 365 * dayMs;

function expiryOf(given: string | number | undefined): Date {
  const nowMs = Date.now();
  const atMs = given === undefined ? nowMs + usualExpiryMs : (parseTime(given) ?? 0);
  if (atMs < nowMs + hourMs || atMs > nowMs + longestExpiryMs) {
    throw Failure.invalid(['body', 'expires_at'], 'invalid_time', 'Must be 1 hour to 1,095 days ahead');
  }
  return new Date(atMs);
}

function causeOf(error: unknown): unknown {
  return error instanceof Failure ? error.cause : error;
}
