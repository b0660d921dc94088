import { type Db, type Scope, unscoped } from '@eligo/postgres';

/** A review whose time is over, in any account. */
export interface DueLetter {
  readonly scope: Scope;
  readonly letterId: string;
}

interface DueRow {
  readonly account_id: string;
  readonly test_mode: boolean;
  readonly id: string;
}

const due = unscoped<DueRow>('letters.due', 'select account_id, test_mode, id from checkout.due_letters($1, $2)');

/** Reviews that are over by the wall clock, those that are due longest first. */
export async function dueLetters(db: Db, at: Date, most: number): Promise<DueLetter[]> {
  return (await db.rows(due, null, [at, most])).map(dueLetterOf);
}

const dueOnClocks = unscoped<DueRow>(
  'letters.due_on_clocks',
  'select account_id, test_mode, id from checkout.due_letters_on_clocks($1)',
);

/** Reviews that are over by their customer's test clock. */
export async function dueLettersOnClocks(db: Db, most: number): Promise<DueLetter[]> {
  return (await db.rows(dueOnClocks, null, [most])).map(dueLetterOf);
}

const next = unscoped<{ due_at: Date | null }>('letters.next_due', 'select checkout.next_due_letter($1) as due_at');

/** When the next review ends by the wall clock, after `at`; undefined when none does. */
export async function nextDueLetter(db: Db, at: Date): Promise<Date | undefined> {
  return (await db.row(next, null, [at]))?.due_at ?? undefined;
}

function dueLetterOf(row: DueRow): DueLetter {
  return { scope: { accountId: row.account_id, testMode: row.test_mode }, letterId: row.id };
}
