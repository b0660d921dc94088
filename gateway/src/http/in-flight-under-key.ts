import { Failure } from '@eligo/failures';
import type { ApiRequest } from './api-request.ts';
import { toFailure } from './to-failure.ts';

/** The answer of a call that moves money. What was not done in time is finished by its service; the same request gets its answer (decisions 7). */
export async function inFlightUnderKey<Answer>(
  { idempotency }: Pick<ApiRequest<unknown, unknown>, 'idempotency'>,
  answer: Promise<Answer>,
): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (idempotency === undefined || toFailure(error).code !== 'deadline_exceeded') throw error;
    throw new Failure('idempotency_key_in_use', { retryAfterSeconds: 1, cause: error });
  }
}
