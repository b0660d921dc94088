import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

const insert = scoped<never>(
  'letter_answers.insert',
  `insert into checkout.letter_answers (account_id, test_mode, letter_id, sealed, submitted_at)
   select $1, $2, a.letter_id, a.sealed, $5 from unnest($3::text[], $4::text[]) as a (letter_id, sealed)
   on conflict (account_id, test_mode, letter_id) do nothing`,
);

/** Stores the sealed answers of letters. Returns how many were stored: those that have answers keep them. */
export async function insertAnswers(
  tx: Tx,
  scope: Scope,
  answers: readonly { readonly letterId: string; readonly sealed: string }[],
  at: Date,
): Promise<number> {
  const ids = answers.map(({ letterId }) => letterId);
  return tx.execute(insert, scope, [ids, answers.map(({ sealed }) => sealed), at]);
}

const unanswered = scoped<{ asks: boolean }>(
  'letter_answers.unanswered',
  `select exists (
     select from checkout.letters l
     where l.account_id = $1 and l.test_mode = $2 and l.session_id = $3 and l.status = 'in_review'
       and not exists (
         select from checkout.letter_answers a where a.account_id = $1 and a.test_mode = $2 and a.letter_id = l.id
       )
   ) as asks`,
);

/** Whether a letter of the session is in review without the shopper's answers. */
export async function hasUnansweredLetter(db: Db, scope: Scope, sessionId: string): Promise<boolean> {
  return (await db.row(unanswered, scope, [sessionId]))?.asks === true;
}

const select = scoped<{ sealed: string; submitted_at: Date }>(
  'letter_answers.load',
  `select sealed, submitted_at from checkout.letter_answers where account_id = $1 and test_mode = $2 and letter_id = $3`,
);

export async function findAnswers(
  db: Db,
  scope: Scope,
  letterId: string,
): Promise<{ sealed: string; submittedAt: Date } | undefined> {
  const row = await db.row(select, scope, [letterId]);
  return row && { sealed: row.sealed, submittedAt: row.submitted_at };
}

const insertRead = scoped<never>(
  'letter_reads.insert',
  `insert into checkout.letter_reads (account_id, test_mode, letter_id, reviewer_id, request_id) values ($1, $2, $3, $4, $5)`,
);

/** Records that a reviewer opens the answers of a letter. */
export async function recordRead(
  tx: Tx,
  scope: Scope,
  letterId: string,
  reviewerId: string,
  requestId: string,
): Promise<void> {
  await tx.execute(insertRead, scope, [letterId, reviewerId, requestId]);
}
