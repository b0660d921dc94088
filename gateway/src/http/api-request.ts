import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '@eligo/contract';
import type { CallOptions } from '@eligo/rpc';
import type { ActiveKey } from '../accounts/key-cache.ts';

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
  /** What to expand, by canonical keys. */
  readonly expand: ReadonlySet<string>;
  /** The request's own retry key, where the route takes one. */
  readonly idempotency: { readonly key: string; readonly requestHash: Uint8Array } | undefined;
}

/** An answer of unknown length: the text of one JSON object in pieces. */
export class StreamedAnswer {
  readonly pieces: AsyncIterable<string>;

  constructor(pieces: AsyncIterable<string>) {
    this.pieces = pieces;
  }
}

export type Answer = JsonObject | StreamedAnswer;
