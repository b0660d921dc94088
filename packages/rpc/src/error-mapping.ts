import { Code, ConnectError } from '@connectrpc/connect';
import { Failure, fromConnectError, toConnectError } from '@eligo/failures';

/** What a handler threw, as it may leave the component: a Failure intact, an error of the call itself as it is, anything else without text. */
export function toWireError(error: unknown): ConnectError {
  if (error instanceof Failure) return toConnectError(error);
  // A peer's own answer is not ours to pass on: to our caller it is an internal matter.
  if (error instanceof ConnectError && isOfTheCall(error)) return new ConnectError(error.rawMessage, error.code);
  return new ConnectError('', Code.Internal);
}

/** Whether an error is unexpected and needs attention. */
export function isUnexpected(error: unknown): boolean {
  if (error instanceof Failure) return error.code === 'internal';
  return !(error instanceof ConnectError && isOfTheCall(error));
}

/** What the caller of a client sees: the Failure that the callee threw, or the error of the call. */
export function fromWireError(error: unknown): unknown {
  return fromConnectError(error) ?? error;
}

// Time ran out, the caller left, or a peer further down cannot be reached: true of our caller's call as well.
const codesOfTheCall = new Set([Code.Canceled, Code.DeadlineExceeded, Code.Unavailable]);

function isOfTheCall(error: ConnectError): boolean {
  return codesOfTheCall.has(error.code);
}
