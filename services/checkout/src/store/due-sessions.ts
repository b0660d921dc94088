import { type Db, type Scope, unscoped } from '@eligo/postgres';

/** A session that is due, in any account. */
export interface DueSession {
  readonly scope: Scope;
  readonly sessionId: string;
}

/** Where a page of due sessions ends, and the next one begins. */
export interface DuePlace {
  readonly expiresAt: Date;
  readonly sessionId: string;
}

/**
 * A page of the open sessions whose time has come by the wall clock, those that are due longest first, after a place. Those that are being
 * charged are left out; `last` is undefined when there are no more.
 */
export async function dueSessions(
  db: Db,
  at: Date,
  most: number,
  after: DuePlace = beforeAll,
): Promise<{ due: DueSession[]; last: DuePlace | undefined }> {
  const rows = await db.rows(selectDue, null, [at, most, after.expiresAt, after.sessionId]);
  const last = rows.length < most ? undefined : rows.at(-1);
  return {
    due: rows.filter(({ charging }) => !charging).map(dueSessionOf),
    last: last && { expiresAt: last.expires_at, sessionId: last.id },
  };
}

const beforeAll: DuePlace = { expiresAt: new Date(0), sessionId: '' };

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

const selectDue = unscoped<DueRow & { readonly expires_at: Date; readonly charging: boolean }>(
  'sessions.due',
  'select account_id, test_mode, id, expires_at, charging from checkout.due_sessions_after($1, $2, $3, $4)',
);

const selectDueOnClocks = unscoped<DueRow>(
  'sessions.due_on_clocks',
  'select account_id, test_mode, id from checkout.due_sessions_on_clocks($1)',
);

const selectNext = unscoped<{ due_at: Date | null }>(
  'sessions.next_due',
  'select checkout.next_due_session($1) as due_at',
);
