import { Code, ConnectError } from '@connectrpc/connect';
import { Failure } from '@eligo/failures';

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
