import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';

export type CatalogTaskKind = 'finalize' | 'release' | 'release_unless_written' | 'activate';

/** Something that is to be done at the catalog for a session. */
export interface CatalogTask {
  readonly scope: Scope;
  readonly sessionId: string;
  readonly kind: CatalogTaskKind;
}

/** The job that does the tasks. */
export const catalogTasksJob = 'settle-catalog-tasks';

// The tasks of a burst of commits are done together.
const burstMs = 100;

/** Notes a task in the transaction that asks for it; it is due after `delayMs`. One that is noted already stays as it is. */
export async function insertCatalogTask(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  kind: CatalogTaskKind,
  delayMs = 0,
): Promise<void> {
  await tx.execute(insert, scope, [sessionId, kind, delayMs]);
  wakeJobAfterCommit(tx, catalogTasksJob, Math.max(delayMs, burstMs));
}

/** Takes a task away that is done, or that is needed no more. */
export async function deleteCatalogTask(tx: Tx, scope: Scope, sessionId: string, kind: CatalogTaskKind): Promise<void> {
  await tx.execute(remove, scope, [sessionId, kind]);
}

/** Puts a task off that failed: a second, doubled with each try, at most five minutes. Returns how often it was tried. */
export async function postponeCatalogTask(tx: Tx, { scope, sessionId, kind }: CatalogTask): Promise<number> {
  return (await tx.row(postpone, scope, [sessionId, kind]))?.tries ?? 0;
}

/** What is due in any account, oldest first; at most `most`. */
export async function dueCatalogTasks(db: Db, most: number): Promise<CatalogTask[]> {
  return (await db.rows(selectDue, null, [most])).map((row) => ({
    scope: { accountId: row.account_id, testMode: row.test_mode },
    sessionId: row.session_id,
    kind: row.kind,
  }));
}

/** In how many milliseconds the next task of any account is due; undefined when there is none. */
export async function nextCatalogTaskInMs(db: Db): Promise<number | undefined> {
  return (await db.row(selectNext, null))?.in_ms ?? undefined;
}

const insert = scoped<never>(
  'catalog_tasks.insert',
  `insert into checkout.catalog_tasks (account_id, test_mode, session_id, kind, due_at)
   values ($1, $2, $3, $4, now() + $5 * interval '1 millisecond') on conflict do nothing`,
);

const remove = scoped<never>(
  'catalog_tasks.delete',
  'delete from checkout.catalog_tasks where account_id = $1 and test_mode = $2 and session_id = $3 and kind = $4',
);

const postpone = scoped<{ tries: number }>(
  'catalog_tasks.postpone',
  `update checkout.catalog_tasks
   set tries = tries + 1, due_at = now() + least(interval '1 second' * 2 ^ least(tries, 20), interval '5 minutes')
   where account_id = $1 and test_mode = $2 and session_id = $3 and kind = $4 returning tries`,
);

const selectDue = unscoped<{ account_id: string; test_mode: boolean; session_id: string; kind: CatalogTaskKind }>(
  'catalog_tasks.due',
  'select account_id, test_mode, session_id, kind from checkout.due_catalog_tasks($1)',
);

const selectNext = unscoped<{ in_ms: number | null }>(
  'catalog_tasks.next',
  'select (extract(epoch from checkout.next_catalog_task() - now()) * 1000)::float8 as in_ms',
);
