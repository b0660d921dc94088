import { Failure, type FailureCode } from '@eligo/failures';

/**
 * Waits for an answer about a record that the body names: one that is not there is a 422 at its place, since a 404 is for what a path names
 * (decisions 1.9).
 */
export async function namedInBody<Answer>(
  answer: Promise<Answer>,
  { code, loc, id }: { readonly code: FailureCode; readonly loc: readonly string[]; readonly id: string },
): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== code) throw error;
    throw Failure.invalid(['body', ...loc], code, `${code}: ${id}`);
  }
}
