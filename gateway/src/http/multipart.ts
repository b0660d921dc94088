import { on } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Failure } from '@eligo/failures';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';

/** One part of a form. Its body must be read to its end before the next part is asked for. */
export interface FormPart {
  readonly name: string;
  /** Undefined for a field. */
  readonly filename: string | undefined;
  /** What the part says its content is, in lower case and without parameters; `text/plain` where it says nothing. */
  readonly type: string;
  readonly body: AsyncGenerator<Buffer>;
}

/** The headers of one part, and the parts of one form. */
const maxHeaderBytes = 4_096;
const maxHeaders = 20;
const maxParts = 10;

/** The headers of a multipart/form-data body. Throws for any other content. */
export function formHeadersOf(headers: IncomingHttpHeaders): BusboyHeaders {
  const { 'content-type': type = '', 'content-encoding': encoding } = headers;
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw new Failure('unsupported_media_type');
  if (!/^multipart\/form-data\s*(?:;|$)/i.test(type)) throw new Failure('unsupported_media_type');
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]*)"|([^\s;"]+))/i.exec(type) ?? [];
  // Characters and length of RFC 2046, 5.1.1.
  const isSound = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/.test(quoted ?? plain ?? '');
  if (!isSound) throw new Failure('invalid_multipart');
  return { 'content-type': type };
}

/**
 * The parts of a multipart/form-data body as they arrive: what is held is a chunk of the body and a buffer of 64 KiB. Throws `invalid_multipart` where the
 * body is no form, breaks off or has too many parts.
 */
export async function* readMultipart(chunks: AsyncIterator<Buffer>, headers: BusboyHeaders): AsyncGenerator<FormPart> {
  const form = openForm(headers);
  const broken = new AbortController();
  let failure: Failure | undefined;
  let reading: Readable | undefined;
  const fail = (cause: unknown) => {
    failure ??= cause instanceof Failure ? cause : new Failure('invalid_multipart', { cause });
    broken.abort();
    // Its reader would wait for the end of the part for good.
    reading?.destroy(failure);
  };
  form.on('error', fail);
  // A part that breaks off emits an error of its own, before `form` does or after it. Without a listener it ends the process, and a part that waits for its
  // reader has none.
  form.on('file', (_name: string, body: Readable) => body.on('error', () => undefined));
  form.on('partsLimit', () => fail(new Error('The form has too many parts')));
  const parts = on(form, 'file', { close: ['finish'], signal: broken.signal }) as AsyncIterable<FileEvent>;
  const fed = feed(chunks, form, broken.signal).catch(fail);
  try {
    let count = 0;
    for await (const [name, body, filename, encoding, type] of parts) {
      count += 1;
      reading = body;
      // The end of a part that waited for its reader is no end of the form.
      if (failure !== undefined) throw failure;
      if (!/^(?:binary|8bit|7bit)$/.test(encoding)) throw new Failure('invalid_multipart');
      // Browsers write a quote as %22.
      yield { name, filename: filename?.replaceAll('%22', '"'), type, body: bodyOf(body) };
    }
    await fed;
    if (failure !== undefined) throw failure;
    if (count === 0) throw new Failure('invalid_multipart');
  } catch (error) {
    throw failure ?? (error instanceof Failure ? error : new Failure('invalid_multipart', { cause: error }));
  } finally {
    broken.abort();
  }
}

type Form = InstanceType<typeof Busboy>;
type FileEvent = [name: string, body: Readable, filename: string | undefined, encoding: string, type: string];

function openForm(headers: BusboyHeaders): Form {
  try {
    return new Busboy({
      headers,
      // Each part is a stream, so that fields have the bounds of their readers.
      isPartAFile: (name) => name !== undefined,
      preservePath: true,
      limits: { parts: maxParts, headerPairs: maxHeaders, headerSize: maxHeaderBytes },
    });
  } catch (error) {
    throw new Failure('invalid_multipart', { cause: error });
  }
}

// Waits while a part is not read. What is left of a form that was given up is read off, so that the connection can take the next request.
async function feed(chunks: AsyncIterator<Buffer>, form: Form, signal: AbortSignal): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
    if (signal.aborted) continue;
    const { value } = next;
    const written = new Promise<void>((resolve, reject) => {
      form.write(value, (error: Error | null | undefined) => (error ? reject(error) : resolve()));
    });
    await Promise.race([written, stopped]);
  }
  if (!signal.aborted) form.end();
}

async function* bodyOf(body: Readable): AsyncGenerator<Buffer> {
  try {
    yield* body as AsyncIterable<Buffer>;
  } catch (error) {
    throw error instanceof Failure ? error : new Failure('invalid_multipart', { cause: error });
  }
}
