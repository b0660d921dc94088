import { Code, ConnectError } from '@connectrpc/connect';
import { Failure } from '@eligo/failures';

/** Whether an error is a refusal, or says that a peer is away or late. Any other is a bug. */
export function isExpected(error: unknown): boolean {
  return error instanceof Failure || toFailure(error).code !== 'internal';
}

/** What a request that failed is answered with: an expected refusal as it is, anything else without its text. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof ConnectError) {
    if (error.code === Code.DeadlineExceeded) {
      return new Failure('deadline_exceeded', { retryAfterSeconds: 1, cause: error });
    }
    if (error.code === Code.Unavailable || error.code === Code.Canceled) {
      return new Failure('service_unavailable', { retryAfterSeconds: 1, cause: error });
    }
  }
  return new Failure('internal', { cause: error });
}
