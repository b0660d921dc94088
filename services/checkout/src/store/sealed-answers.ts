import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';

/** The sealed answers of a letter of any account, and where they are. */
export interface SealedAnswers {
  readonly scope: Scope;
  readonly letterId: string;
  readonly sealed: string;
}

const page = unscoped<{ account_id: string; test_mode: boolean; letter_id: string; sealed: string }>(
  'letter_answers.page',
  `select account_id, test_mode, letter_id, sealed from checkout.letter_answers
    where (account_id, test_mode, letter_id) > ($1, $2, $3) order by account_id, test_mode, letter_id limit $4`,
);

/** A page of the sealed answers of all accounts, after one of them, as a role that row-level security does not bind. */
export async function readSealedAnswers(
  db: Db,
  after: SealedAnswers | undefined,
  most: number,
): Promise<SealedAnswers[]> {
  const { accountId, testMode } = after?.scope ?? { accountId: '', testMode: false };
  const rows = await db.rows(page, null, [accountId, testMode, after?.letterId ?? '', most]);
  return rows.map((row) => ({
    scope: { accountId: row.account_id, testMode: row.test_mode },
    letterId: row.letter_id,
    sealed: row.sealed,
  }));
}

const replace = scoped<never>(
  'letter_answers.reseal',
  `update checkout.letter_answers set sealed = $4 where account_id = $1 and test_mode = $2 and letter_id = $3`,
);

/** Stores the same answers under another seal. */
export async function replaceSealedAnswers(tx: Tx, { scope, letterId }: SealedAnswers, sealed: string): Promise<void> {
  await tx.execute(replace, scope, [letterId, sealed]);
}
