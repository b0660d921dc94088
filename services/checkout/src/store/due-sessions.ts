import { type Db, type Scope, unscoped } from '@eligo/postgres';

/** A session that is due, in any account. */
export interface DueSession {
  readonly scope: Scope;
  readonly sessionId: string;
}

/** Open sessions whose time has come by the wall clock: ids only, at most `most`, those that are due longest first. */
export async function dueSessions(db: Db, at: Date, most: number): Promise<DueSession[]> {
  return (await db.rows(selectDue, null, [at, most])).map(dueSessionOf);
}

/** Open sessions whose time has come by their customer's test clock. */
export async function dueSessionsOnClocks(db: Db, most: number): Promise<DueSession[]> {
  return (await db.rows(selectDueOnClocks, null, [most])).map(dueSessionOf);
}

/** When the next open session is due by the wall clock, after `at`; undefined when none is. */
export async function nextDueSession(db: Db, at: Date): Promise<Date | undefined> {
  return (await db.row(selectNext, null, [at]))?.due_at ?? undefined;
}

interface DueRow {
  readonly account_id: string;
  readonly test_mode: boolean;
  readonly id: string;
}

function dueSessionOf(row: DueRow): DueSession {
  return { scope: { accountId: row.account_id, testMode: row.test_mode }, sessionId: row.id };
}

const selectDue = unscoped<DueRow>(
  'sessions.due',
  'select account_id, test_mode, id from checkout.due_sessions($1, $2)',
);

const selectDueOnClocks = unscoped<DueRow>(
  'sessions.due_on_clocks',
  'select account_id, test_mode, id from checkout.due_sessions_on_clocks($1)',
);

const selectNext = unscoped<{ due_at: Date | null }>(
  'sessions.next_due',
  'select checkout.next_due_session($1) as due_at',
);
