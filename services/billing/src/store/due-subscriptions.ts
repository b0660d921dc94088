import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';

/** A subscription that this process has taken, and no other one takes until its hold ends. */
export interface DueSubscription {
  readonly scope: Scope;
  readonly id: string;
}

/** Takes the subscriptions that have been due longest by the wall clock, in any account; the longest first. */
export async function claimDue(db: Db, at: Date, until: Date, most: number): Promise<DueSubscription[]> {
  const rows = await db.rows(claim, null, [at, until, most]);
  rows.sort((one, other) => one.work_at.getTime() - other.work_at.getTime());
  return rows.map((row) => ({ scope: scopeOf(row), id: row.id }));
}

/** Takes those of the accounts after this one, a few of each, and says which account was looked at last; undefined after all of them. */
export async function claimDueOfAccounts(
  db: Db,
  times: { readonly at: Date; readonly until: Date },
  pages: { readonly accounts: number; readonly each: number },
  after: Scope | undefined,
): Promise<{ due: DueSubscription[]; last: Scope | undefined }> {
  const rows = await db.rows(claimOfAccounts, null, [
    ...[times.at, times.until, pages.accounts, pages.each],
    ...[after?.accountId ?? '', after?.testMode ?? false],
  ]);
  const looked = new Set(rows.map((row) => `${row.account_id} ${row.test_mode}`));
  const last = rows.at(-1);
  return {
    due: rows.flatMap((row) => (row.id === null ? [] : [{ scope: scopeOf(row), id: row.id }])),
    last: last === undefined || looked.size < pages.accounts ? undefined : scopeOf(last),
  };
}

/**
 * Frees subscriptions that are held until later than any hold lasts, and says how many: the wall clock was ahead when they were held. Those that wait for an operator
 * stay held.
 */
export async function freeFalseHolds(db: Db, at: Date, most: number): Promise<number> {
  return (await db.row(freeFalse, null, [at, `${longestHoldMs} milliseconds`, most]))?.freed ?? 0;
}

// Longer than the longest lease (ELIGO_RENEWAL_LEASE_MS), and than a turn of the pace is ahead: ten minutes each.
const longestHoldMs = 15 * 60_000;

/** When the next subscription is due by the wall clock. */
export async function nextDueAt(db: Db, after: Date): Promise<Date | undefined> {
  return (await db.row(next, null, [after]))?.at ?? undefined;
}

/** A subscription of a test clock that is due by a time of it. */
export interface DueOnClock {
  readonly id: string;
  readonly dueAt: Date;
  /** No process takes it before this time of the wall clock. */
  readonly heldUntil: Date | null;
}

/** Those of a test clock that are due by this time of it, the earliest first. */
export async function dueOnClock(db: Db, scope: Scope, clockId: string, at: Date, most: number): Promise<DueOnClock[]> {
  const rows = await db.rows(selectOnClock, scope, [clockId, at, most]);
  return rows.map((row) => ({ id: row.id, dueAt: row.due_at, heldUntil: row.held_until }));
}

/** Takes one subscription until `until`; false when another process has it, or a pause is not over. */
export async function holdSubscription(tx: Tx, scope: Scope, id: string, now: Date, until: Date): Promise<boolean> {
  return (await tx.execute(hold, scope, [id, now, until])) === 1;
}

/** Gives a subscription back: it is taken up again from `until` on, or at once. */
export async function releaseSubscription(tx: Tx, scope: Scope, id: string, until: Date | null): Promise<void> {
  await tx.execute(release, scope, [[id], [until]]);
}

/** The same for several, each with its own time. */
export async function releaseSubscriptions(
  tx: Tx,
  scope: Scope,
  turns: readonly { readonly id: string; readonly until: Date | null }[],
): Promise<void> {
  await tx.execute(release, scope, [turns.map(({ id }) => id), turns.map(({ until }) => until)]);
}

interface FoundRow {
  readonly account_id: string;
  readonly test_mode: boolean;
}

function scopeOf(row: FoundRow): Scope {
  return { accountId: row.account_id, testMode: row.test_mode };
}

const claim = unscoped<FoundRow & { id: string; work_at: Date }>(
  'subscriptions.claim_due',
  'select account_id, test_mode, id, work_at from claim_due_subscriptions($1, $2, $3)',
);
const claimOfAccounts = unscoped<FoundRow & { id: string | null }>(
  'subscriptions.claim_due_of_each_account',
  'select account_id, test_mode, id from claim_due_of_each_account($1, $2, $3, $4, $5, $6)',
);
const freeFalse = unscoped<{ freed: number }>(
  'subscriptions.free_false_holds',
  'select free_false_holds($1, $2::interval, $3) as freed',
);
const next = unscoped<{ at: Date | null }>('subscriptions.next_due', 'select next_due_subscription($1) as at');
const selectOnClock = scoped<{ id: string; due_at: Date; held_until: Date | null }>(
  'subscriptions.due_on_clock',
  `select id, due_at, held_until from subscriptions where account_id = $1 and test_mode = $2 and test_clock_id = $3 and due_at <= $4
   order by due_at limit $5`,
);
const hold = scoped(
  'subscriptions.hold',
  `update subscriptions set held_until = $5 where account_id = $1 and test_mode = $2 and id = $3
     and (held_until is null or held_until <= $4)`,
);
const release = scoped(
  'subscriptions.release',
  `update subscriptions s set held_until = turn.until from unnest($3::text[], $4::timestamptz[]) as turn (id, until)
   where s.account_id = $1 and s.test_mode = $2 and s.id = turn.id`,
);
