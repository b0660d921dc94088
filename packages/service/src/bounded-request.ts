import { IncomingMessage } from 'node:http';

/** A client may flush a thousand small writes in a row. Chunks of 64 bytes or more are never too many. */
const mostCredit = 1_024;
const bytesPerChunk = 64;

/**
 * A request that keeps a bounded number of chunks. Node gives each chunk a Buffer of its own, of 250 to 500 bytes of memory also if it contains one byte: a body of 64 kB
 * that waits for its reader would take 30 MB.
 */
export class BoundedRequest extends IncomingMessage {
  #credit = mostCredit;
  #hasTooManyChunks = false;

  /** Whether a part of the body was dropped. Who reads the body asks after each chunk: the first one too many is kept, so that the reader wakes up. */
  get hasTooManyChunks(): boolean {
    return this.#hasTooManyChunks;
  }

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    if (chunk === null) return super.push(chunk, encoding);
    if (this.#hasTooManyChunks) return true;
    this.#credit = Math.min(mostCredit, this.#credit - 1 + chunk.length / bytesPerChunk);
    this.#hasTooManyChunks = this.#credit < 0;
    return super.push(chunk, encoding);
  }
}
