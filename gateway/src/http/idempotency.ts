import type { IncomingMessage } from 'node:http';
import { limits, type Route } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { requestHash } from '@eligo/postgres';

/** A request as its hash is made: what makes it another request under the same key. */
export interface HashedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: unknown;
  readonly body: unknown;
}

/** The retry key of a request on a route that takes one; the service that owns the route decides what it means (decisions 1.1). */
export function idempotencyOf(
  route: Route,
  request: IncomingMessage,
): ((hashed: HashedRequest) => { key: string; requestHash: Uint8Array }) | undefined {
  if (route.idempotency === 'ignored') return undefined;
  const key = request.headers['idempotency-key'];
  if (key === undefined || key === '') {
    if (route.idempotencyRequired) throw new Failure('idempotency_key_required');
    return undefined;
  }
  if (typeof key !== 'string' || !keyForm.test(key)) {
    throw Failure.invalid(
      ['header', 'idempotency-key'],
      'invalid_idempotency_key',
      `Must be 1 to ${limits.idempotencyKeyLength} visible ASCII characters`,
    );
  }
  return (hashed) => ({ key, requestHash: requestHash(hashed) });
}

const keyForm = new RegExp(`^[\\x21-\\x7e]{1,${limits.idempotencyKeyLength}}$`);
