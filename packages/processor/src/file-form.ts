import { randomUUID } from 'node:crypto';

/** A request's body that is read while it is sent. */
export interface StreamedBody {
  /** In bytes, for the Content-Length. */
  readonly length: number;
  pieces(): AsyncIterable<Buffer>;
}

/** A file as it is handed to the SDK: the content is read when it is sent. */
export interface FileContent {
  readonly name: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  pieces(): AsyncIterable<Buffer>;
}

/** A multipart/form-data body (RFC 7578) of texts and one file, which is never in memory as a whole, with the Content-Type that names its boundary. */
export function fileForm(
  texts: Readonly<Record<string, string>>,
  file: FileContent,
): { readonly contentType: string; readonly body: StreamedBody } {
  const boundary = `eligo-${randomUUID()}`;
  const part = (name: string, more = '') =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${plain(name)}"${more}\r\n`;
  const fields = Object.entries(texts).map(([name, text]) => `${part(name)}\r\n${plain(text)}\r\n`);
  const head = Buffer.from(
    `${fields.join('')}${part('file', `; filename="${plain(file.name)}"`)}Content-Type: ${plain(file.mediaType)}\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: {
      length: head.length + file.sizeBytes + tail.length,
      async *pieces() {
        yield head;
        yield* exactly(file);
        yield tail;
      },
    },
  };
}

// A body that is shorter or longer than it says would be read together with the next request.
async function* exactly({ sizeBytes, pieces }: FileContent): AsyncGenerator<Buffer> {
  let sent = 0;
  for await (const piece of pieces()) {
    sent += piece.length;
    if (sent > sizeBytes) break;
    yield piece;
  }
  if (sent !== sizeBytes) throw new Error('A file is not as long as it says');
}

// Names of ours and of the processor: what would end a header is in none of them.
function plain(text: string): string {
  if (/^[\w./-]{1,200}$/.test(text)) return text;
  throw new RangeError('A form accepts only plain names');
}
