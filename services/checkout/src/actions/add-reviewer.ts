import { type Database, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { credentialHash, newCredential, type Reviewer } from '../domain/reviewer.ts';
import * as store from '../store/reviewers.ts';

/** Admits a reviewer. Answers with the personal credential, which is stored as its hash and shown here once. Throws a RangeError for a bad field. */
export async function addReviewer(
  database: Database,
  given: Omit<Reviewer, 'id'>,
): Promise<{ reviewer: Reviewer; credential: string }> {
  const { name, license, state } = {
    name: given.name.trim(),
    license: given.license.trim(),
    state: given.state.trim(),
  };
  for (const [field, value] of Object.entries({ name, license })) {
    if (value === '' || value.length > maxFieldLength) {
      throw new RangeError(`The ${field} must have 1 to ${maxFieldLength} characters`);
    }
  }
  if (!/^[A-Z]{2}$/.test(state)) throw new RangeError('The state must be two capital letters, for example CA');
  const reviewer = { id: newId('reviewer'), name, license, state };
  const credential = newCredential();
  await withTx(database, null, (tx) => store.insertReviewer(tx, reviewer, credentialHash(credential)));
  return { reviewer, credential };
}

const maxFieldLength = 200;

/** Ends a reviewer's credential. What was decided with it stays. False when there is no such reviewer, or it was revoked before. */
export async function revokeReviewer(database: Database, id: string): Promise<boolean> {
  return withTx(database, null, (tx) => store.revokeReviewer(tx, id));
}

/** All that an operator looks at; an installation has a few dozen. */
const mostReviewers = 1_000;

/** The reviewers, newest first, without their credentials. */
export function listReviewers(database: Database) {
  return store.listReviewers(database, mostReviewers);
}
