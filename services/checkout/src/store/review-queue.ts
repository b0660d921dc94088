import { type Db, type Scope, unscoped } from '@eligo/postgres';

/** A letter in review, of any account. */
export interface QueuedLetter {
  readonly scope: Scope;
  readonly letterId: string;
  readonly reviewUntil: Date;
}

/** Where a page of the queue ends. */
export type QueuePlace = Pick<QueuedLetter, 'letterId' | 'reviewUntil'>;

const queue = unscoped<{ account_id: string; test_mode: boolean; id: string; review_until: Date }>(
  'letters.to_review',
  'select account_id, test_mode, id, review_until from checkout.letters_to_review($1, $2, $3, $4)',
);

/** A page of the letters in review of all accounts of a mode, those whose review ends first. */
export async function readReviewQueue(
  db: Db,
  testMode: boolean,
  most: number,
  after: QueuePlace = { reviewUntil: new Date(0), letterId: '' },
): Promise<QueuedLetter[]> {
  const rows = await db.rows(queue, null, [testMode, most, after.reviewUntil, after.letterId]);
  return rows.map((row) => ({
    scope: { accountId: row.account_id, testMode: row.test_mode },
    letterId: row.id,
    reviewUntil: row.review_until,
  }));
}

const accountOf = unscoped<{ account_id: string; test_mode: boolean }>(
  'letters.account_of',
  'select account_id, test_mode from checkout.account_of_letter($1)',
);

/** Whose a letter is, or undefined. */
export async function scopeOfLetter(db: Db, letterId: string): Promise<Scope | undefined> {
  const row = await db.row(accountOf, null, [letterId]);
  return row && { accountId: row.account_id, testMode: row.test_mode };
}
