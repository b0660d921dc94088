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

/** Waits for a call and reports its error about a field at the field that the client used. */
export async function toldAt<Answer>(
  answer: Promise<Answer>,
  { from, to }: { readonly from: readonly string[]; readonly to: readonly string[] },
): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof Failure) || error.violations === undefined) throw error;
    const place = ['body', ...from].join('\0');
    throw Failure.violations(
      error.violations.map((one) => (one.loc.join('\0') === place ? { ...one, loc: ['body', ...to] } : one)),
    );
  }
}
