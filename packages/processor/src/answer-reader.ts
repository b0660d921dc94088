/** A whole answer: nothing of it is missing, and nothing came behind it. */
export interface HttpAnswer {
  readonly status: number;
  /** By lower-case names; several of one name are joined by `, `. */
  readonly headers: Record<string, string>;
  readonly body: string;
  /** How long its connection may be kept for another request: 0 when the server closes it. */
  readonly keepMs: number;
}

const maxHeadBytes = 64 * 1024;
const maxAnswerBytes = 8 * 1024 * 1024;
/** How long a connection is kept when the server does not say how long it keeps it: less than any proxy closes an idle one after. */
const defaultKeepMs = 30_000;
const endOfHead = Buffer.from('\r\n\r\n');
const protocolName = 'HTTP/1.';
const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: .*)?$/;
const headerName = /^[!#$%&'*+.^_`|~\w-]+$/;

/**
 * Reads one HTTP/1.1 answer from the pieces in which it arrives. `push` gives the answer once it is whole, and throws for what is none: only an
 * answer that says how long it is (Content-Length or chunked) can be told from one that was cut off.
 */
export class AnswerReader {
  #bytes: Buffer | undefined;
  #head: Head | undefined;

  push(piece: Buffer): HttpAnswer | undefined {
    const bytes = this.#bytes === undefined ? piece : Buffer.concat([this.#bytes, piece]);
    this.#bytes = bytes;
    if (bytes.length > maxAnswerBytes) throw new Error('The response is too long');
    this.#head ??= readHead(bytes);
    const head = this.#head;
    if (head === undefined) return undefined;
    const body = head.length === undefined ? readChunks(bytes, head.end) : readLength(bytes, head.end, head.length);
    if (body === undefined) return undefined;
    if (body.end !== bytes.length) throw new Error('Unexpected bytes after the response');
    return { status: head.status, headers: head.headers, body: body.text, keepMs: head.keepMs };
  }
}

interface Head {
  status: number;
  headers: Record<string, string>;
  /** Where the body begins. */
  end: number;
  /** Of the body; undefined when it comes in chunks. */
  length: number | undefined;
  keepMs: number;
}

function readHead(bytes: Buffer): Head | undefined {
  for (let start = 0; ; ) {
    const end = bytes.indexOf(endOfHead, start);
    if ((end < 0 ? bytes.length : end) - start > maxHeadBytes) throw new Error('The response head is too long');
    if (end < 0) {
      // Do not wait for an invalid response.
      if (!protocolName.startsWith(bytes.toString('latin1', start, start + protocolName.length))) {
        throw new Error('Not an HTTP response');
      }
      return undefined;
    }
    const [first = '', ...lines] = bytes.toString('latin1', start, end).split('\r\n');
    const [, minor, status] = statusLine.exec(first) ?? [];
    if (status === undefined || status === '101') throw new Error('Not an HTTP response');
    start = end + endOfHead.length;
    // An interim answer, such as 103 Early Hints: the one that counts comes behind it.
    if (status.startsWith('1')) continue;
    const headers = readHeaders(lines);
    return {
      status: Number(status),
      headers,
      end: start,
      length: lengthOf(Number(status), headers),
      keepMs: minor === '1' ? keepMsOf(headers) : 0,
    };
  }
}

function readHeaders(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (!headerName.test(name)) throw new Error('Invalid header line in the response');
    const value = line.slice(colon + 1).trim();
    const known = headers[name];
    if (known === undefined || !Object.hasOwn(headers, name)) headers[name] = value;
    else headers[name] = `${known}, ${value}`;
  }
  return headers;
}

function lengthOf(status: number, headers: Record<string, string>): number | undefined {
  if (status === 204 || status === 304) return 0;
  const { 'transfer-encoding': encoding, 'content-length': length } = headers;
  if (encoding !== undefined) {
    if (encoding.toLowerCase() !== 'chunked' || length !== undefined)
      throw new Error('The response has an ambiguous length');
    return undefined;
  }
  if (length === undefined || !/^\d{1,9}$/.test(length)) throw new Error('The response has an ambiguous length');
  return Number(length);
}

function keepMsOf(headers: Record<string, string>): number {
  if (headers.connection !== undefined && /\bclose\b/i.test(headers.connection)) return 0;
  const hint = /\btimeout=(\d{1,6})/.exec(headers['keep-alive'] ?? '')?.[1];
  // A second less than the server says, so that it is not closed under a request.
  return hint === undefined ? defaultKeepMs : Math.max(Number(hint) - 1, 0) * 1_000;
}

interface Body {
  text: string;
  end: number;
}

function readLength(bytes: Buffer, start: number, length: number): Body | undefined {
  const end = start + length;
  return bytes.length < end ? undefined : { text: bytes.toString('utf8', start, end), end };
}

function readChunks(bytes: Buffer, start: number): Body | undefined {
  const parts: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at, 'latin1');
    if (lineEnd < 0) return undefined;
    const size = /^([\da-fA-F]{1,7})[ \t]*(?:;.*)?$/.exec(bytes.toString('latin1', at, lineEnd))?.[1];
    if (size === undefined) throw new Error('Invalid chunk in the response');
    const from = lineEnd + 2;
    const to = from + Number.parseInt(size, 16);
    if (to === from) {
      const end = endOfTrailers(bytes, from);
      return end === undefined ? undefined : { text: Buffer.concat(parts).toString(), end };
    }
    if (bytes.length < to + 2) return undefined;
    if (bytes[to] !== 13 || bytes[to + 1] !== 10) throw new Error('A chunk has an unexpected length');
    parts.push(bytes.subarray(from, to));
    at = to + 2;
  }
}

function endOfTrailers(bytes: Buffer, start: number): number | undefined {
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at, 'latin1');
    if (lineEnd < 0) return undefined;
    if (lineEnd === at) return at + 2;
    at = lineEnd + 2;
  }
}
