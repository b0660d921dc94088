import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import type { DueLetter } from './due-letters.ts';

/** Letters of all accounts that end within 30 days, by the wall clock, those that end first. */
export async function lettersToAnnounce(db: Db, at: Date, most: number): Promise<DueLetter[]> {
  return (await db.rows(due, null, [at, most])).map(dueLetterOf);
}

/** The same by their customers' test clocks. */
export async function lettersToAnnounceOnClocks(db: Db, most: number): Promise<DueLetter[]> {
  return (await db.rows(dueOnClocks, null, [most])).map(dueLetterOf);
}

/** When the end of the next letter is announced by the wall clock, after `at`; undefined when none is. */
export async function nextLetterToAnnounce(db: Db, at: Date): Promise<Date | undefined> {
  return (await db.row(next, null, [at]))?.due_at ?? undefined;
}

/** Records that the end of a letter is announced. False when it was before, or the letter is not one that ends. */
export async function markEndAnnounced(tx: Tx, scope: Scope, id: string, at: Date): Promise<boolean> {
  return (await tx.execute(mark, scope, [id, at])) === 1;
}

interface DueRow {
  readonly account_id: string;
  readonly test_mode: boolean;
  readonly id: string;
}

function dueLetterOf(row: DueRow): DueLetter {
  return { scope: { accountId: row.account_id, testMode: row.test_mode }, letterId: row.id };
}

const due = unscoped<DueRow>(
  'letters.to_announce',
  'select account_id, test_mode, id from checkout.letters_to_announce($1, $2)',
);

const dueOnClocks = unscoped<DueRow>(
  'letters.to_announce_on_clocks',
  'select account_id, test_mode, id from checkout.letters_to_announce_on_clocks($1)',
);

const next = unscoped<{ due_at: Date | null }>(
  'letters.next_to_announce',
  'select checkout.next_letter_to_announce($1) as due_at',
);

const mark = scoped<never>(
  'letters.mark_end_announced',
  `update checkout.letters set end_announced_at = $4
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'approved' and end_announced_at is null`,
);
