import type { Code } from '@connectrpc/connect';
import { type ServiceError, status as Status, type StatusObject } from '@grpc/grpc-js';
import { errorFromWire } from './failure-bytes.ts';
import { failureTrailer } from './grpc-names.ts';

/** What a call failed with, from the status that grpc-js ended it with. */
export function errorFromStatus(error: StatusObject | ServiceError | null): unknown {
  if (error === null || error.metadata === undefined) return error;
  const [failure] = error.metadata.get(failureTrailer);
  const code: number = failure === undefined && brokenOff.test(error.details) ? Status.UNAVAILABLE : error.code;
  return errorFromWire(error.details, code as Code, typeof failure === 'string' ? undefined : failure);
}

// What grpc-js says itself of a call that ended without an answer of the peer: its stream was reset, or its connection broke while something was written to it.
// It calls most of them internal errors. A peer that dies, stops or was frozen for seconds causes them, and the same call can succeed later.
const brokenOff =
  /^(Received RST_STREAM with code|Received HTTP status code (200|5)|Bandwidth exhausted or memory limit)/;

/**
 * Whether a stream that ended so never reached the peer: there was no connection to carry it, or the peer's HTTP/2 refused it before it was read. Not to be asked of an
 * answer of a handler, which may pass on what its own peer ended with.
 */
export function hasNotBegun({ code, details }: StatusObject): boolean {
  return code === Status.UNIMPLEMENTED || (code === Status.UNAVAILABLE && notBegun.test(details));
}

const notBegun = /^(round_robin: )?No connection established|^Name resolution failed|^Stream refused by server/;
