import { type Db, type Scope, type Tx, unscoped } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';

/** The job that finishes charge work. */
export const sweepChargesJob = 'sweep-charges';

// A process that releases work usually continues it at once, and a burst of commits takes one sweep.
const soonestMs = 1_000;

/**
 * Has the sweep run when the work that this transaction gives back falls due. A transaction that takes a lease need not call it: the sweep looks
 * at least once per lease, and then knows when the lease ends.
 */
export function wakeSweepAfterCommit(tx: Tx, inMs = 0): void {
  wakeJobAfterCommit(tx, sweepChargesJob, Math.max(inMs, soonestMs));
}

/** A piece of charge work that no process is working on any more, in any account. */
export interface DueWork {
  readonly kind: 'attempt' | 'abandoned' | 'operation' | 'capture' | 'plan' | 'lapsed';
  readonly scope: Scope;
  readonly id: string;
}

const due = unscoped<{ kind: DueWork['kind']; account_id: string; test_mode: boolean; id: string }>(
  'checkout.due_charge_work',
  'select kind, account_id, test_mode, id from checkout.due_charge_work($1)',
);

/** At most `mostPerKind` of each kind, those that are due longest first. */
export async function dueChargeWork(db: Db, mostPerKind: number): Promise<DueWork[]> {
  const rows = await db.rows(due, null, [mostPerKind]);
  return rows.map(({ kind, id, account_id, test_mode }) => ({
    kind,
    id,
    scope: { accountId: account_id, testMode: test_mode },
  }));
}

const turns = unscoped<{ kind: DueWork['kind'] | null; account_id: string; test_mode: boolean; id: string }>(
  'checkout.charge_work_turns',
  'select kind, account_id, test_mode, id from checkout.charge_work_turns($1, $2, $3, $4)',
);

/** At most `each` of each kind, of each of the accounts after a place, those that are due longest first; and the account that was looked at last, undefined after all of them. */
export async function dueChargeWorkOfAccounts(
  db: Db,
  after: Scope | undefined,
  { accounts, each }: { readonly accounts: number; readonly each: number },
): Promise<{ work: DueWork[]; last: Scope | undefined }> {
  const rows = await db.rows(turns, null, [after?.accountId ?? '', after?.testMode ?? false, accounts, each]);
  const found = rows.map(({ kind, id, account_id, test_mode }) => ({
    ...{ kind, id },
    scope: { accountId: account_id, testMode: test_mode },
  }));
  const looked = new Set(rows.map((row) => `${row.account_id} ${row.test_mode}`));
  return {
    work: found.flatMap(({ kind, id, scope }) => (kind === null ? [] : [{ kind, id, scope }])),
    last: looked.size < accounts ? undefined : found.at(-1)?.scope,
  };
}

const next = unscoped<{ due_in_ms: number | null }>(
  'checkout.next_charge_work',
  'select extract(epoch from checkout.next_charge_work() - clock_timestamp())::float8 * 1000 as due_in_ms',
);

/** How long until charge work falls due, negative when some is; undefined when none waits and no lease is held. */
export async function nextChargeWorkInMs(db: Db): Promise<number | undefined> {
  return (await db.row(next, null))?.due_in_ms ?? undefined;
}

const wake = unscoped(
  'checkout.wake_charge_work',
  `select checkout.wake_charge_work(now() - $1 * interval '1 millisecond', $2)`,
);

/** Makes work due that waits for its next check and that no process has taken since `agoMs` ago: of each kind at most so much, in all accounts. */
export async function wakeChargeWork(db: Db, agoMs: number, mostPerKind: number): Promise<void> {
  await db.execute(wake, null, [agoMs, mostPerKind]);
}

const waiting = unscoped<{ attempts_in_doubt: bigint; plans: bigint; holds: bigint }>(
  'checkout.charge_work_waiting',
  `select attempts_in_doubt, plans, holds from checkout.charge_work_waiting($1 * interval '1 second')`,
);

/** How much waits over all accounts: attempts sent and holds decided that many seconds ago and not settled, and plans that no process works on. */
export async function countChargeWork(
  db: Db,
  olderThanSeconds: number,
): Promise<{ attemptsInDoubt: number; plans: number; holds: number }> {
  const row = await db.row(waiting, null, [olderThanSeconds]);
  return {
    attemptsInDoubt: Number(row?.attempts_in_doubt ?? 0n),
    plans: Number(row?.plans ?? 0n),
    holds: Number(row?.holds ?? 0n),
  };
}
