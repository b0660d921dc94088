import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { JsonObject } from '@eligo/contract';
import type { CallOptions } from '@eligo/rpc';
import type { ActiveKey } from '../accounts/key-cache.ts';
import type { Turn } from '../turns/request-turns.ts';

/** A request that has passed every check of the gateway, as a route's handler sees it. */
export interface ApiRequest<Query, Body> {
  readonly key: ActiveKey;
  /** What travels with every call that is made for this request. */
  readonly call: CallOptions;
  /** The path's only parameter. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
  readonly headers: IncomingHttpHeaders;
  /** The request itself, whose body only the upload of a file reads by itself. */
  readonly request: IncomingMessage;
  /** The request's turn among those of its account. */
  readonly turn: Turn;
  /** What to expand, by canonical keys: only records that the key may read. */
  readonly expand: ReadonlySet<string>;
  /** The request's own retry key, where the route takes one. */
  readonly idempotency: { readonly key: string; readonly requestHash: Uint8Array } | undefined;
}

/** An answer of unknown length in pieces: the text of one JSON object, or a file of another type. */
export class StreamedAnswer {
  readonly pieces: AsyncIterable<string>;
  readonly file: { readonly type: string; readonly filename: string } | undefined;

  constructor(pieces: AsyncIterable<string>, file?: StreamedAnswer['file']) {
    this.pieces = pieces;
    this.file = file;
  }
}

/** The content of a file, in pieces. */
export class FileAnswer {
  /** A file that is in memory. */
  static of(content: Buffer, { type, filename }: Pick<FileAnswer, 'type' | 'filename'>): FileAnswer {
    return new FileAnswer({ type, filename, sizeBytes: content.length, pieces: wholeOf(content) });
  }

  readonly type: string;
  readonly filename: string;
  readonly sizeBytes: number;
  readonly pieces: AsyncGenerator<Buffer>;

  constructor(file: Pick<FileAnswer, 'type' | 'filename' | 'sizeBytes' | 'pieces'>) {
    this.type = file.type;
    this.filename = file.filename;
    this.sizeBytes = file.sizeBytes;
    this.pieces = file.pieces;
  }
}

async function* wholeOf(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}

export type Answer = JsonObject | StreamedAnswer | FileAnswer;
