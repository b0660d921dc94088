import { type Db, type Tx, unscoped } from '@eligo/postgres';
import type { Reviewer } from '../domain/reviewer.ts';

const insert = unscoped<never>(
  'reviewers.insert',
  'insert into checkout.reviewers (id, name, license, state, credential_hash) values ($1, $2, $3, $4, $5)',
);

export async function insertReviewer(tx: Tx, { id, name, license, state }: Reviewer, hash: Buffer): Promise<void> {
  await tx.execute(insert, null, [id, name, license, state, hash]);
}

const byHash = unscoped<Reviewer>(
  'reviewers.by_credential',
  'select id, name, license, state from checkout.reviewers where credential_hash = $1 and revoked_at is null',
);

/** Whose credential it is; undefined when it is unknown or revoked. */
export async function findReviewer(db: Db, hash: Buffer): Promise<Reviewer | undefined> {
  return db.row(byHash, null, [hash]);
}

const revoke = unscoped<never>(
  'reviewers.revoke',
  'update checkout.reviewers set revoked_at = now() where id = $1 and revoked_at is null',
);

/** Ends a credential. False when there is no such reviewer, or it was revoked before. */
export async function revokeReviewer(tx: Tx, id: string): Promise<boolean> {
  return (await tx.execute(revoke, null, [id])) === 1;
}

const list = unscoped<Reviewer & { created_at: Date; revoked_at: Date | null }>(
  'reviewers.list',
  'select id, name, license, state, created_at, revoked_at from checkout.reviewers order by id desc limit $1',
);

/** Reviewers, newest first. */
export async function listReviewers(db: Db, most: number) {
  return db.rows(list, null, [most]);
}
