import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';

export type CatalogTaskKind = 'finalize' | 'release' | 'release_unless_written';

/** Something that is to be done at the catalog for a discount's redemption. */
export interface CatalogTask {
  readonly scope: Scope;
  readonly discountId: string;
  readonly subscriptionId: string;
  readonly kind: CatalogTaskKind;
}

/** The job that does the tasks. */
export const catalogTasksJob = 'settle-catalog-tasks';

/** Notes a task in the transaction that requires it; it is due after `delayMs`. One that is noted already stays as it is. */
export async function insertCatalogTask(
  tx: Tx,
  { scope, discountId, subscriptionId, kind }: CatalogTask,
  delayMs = 0,
): Promise<void> {
  await tx.execute(insert, scope, [discountId, subscriptionId, kind, delayMs]);
  wakeJobAfterCommit(tx, catalogTasksJob, delayMs);
}

/** Deletes a task that is done, or not needed any more. */
export async function deleteCatalogTask(
  tx: Tx,
  { scope, discountId, kind }: Pick<CatalogTask, 'scope' | 'discountId' | 'kind'>,
): Promise<void> {
  await tx.execute(remove, scope, [discountId, kind]);
}

/** Puts off a task that failed: a second, doubled with each try, at most five minutes. Returns how often it was tried. */
export async function postponeCatalogTask(tx: Tx, { scope, discountId, kind }: CatalogTask): Promise<number> {
  return (await tx.row(postpone, scope, [discountId, kind]))?.tries ?? 0;
}

/** What is due in any account, oldest first; at most `most`. */
export async function dueCatalogTasks(db: Db, most: number): Promise<CatalogTask[]> {
  return (await db.rows(selectDue, null, [most])).map((row) => ({
    scope: { accountId: row.account_id, testMode: row.test_mode },
    discountId: row.discount_id,
    subscriptionId: row.subscription_id,
    kind: row.kind,
  }));
}

/** In how many milliseconds the next task of any account is due; undefined if there is none. */
export async function nextCatalogTaskInMs(db: Db): Promise<number | undefined> {
  return (await db.row(selectNext, null))?.in_ms ?? undefined;
}

interface DueRow {
  readonly account_id: string;
  readonly test_mode: boolean;
  readonly discount_id: string;
  readonly subscription_id: string;
  readonly kind: CatalogTaskKind;
}

const insert = scoped<never>(
  'catalog_tasks.insert',
  `insert into catalog_tasks (account_id, test_mode, discount_id, subscription_id, kind, due_at)
   values ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond') on conflict do nothing`,
);
const remove = scoped<never>(
  'catalog_tasks.delete',
  'delete from catalog_tasks where account_id = $1 and test_mode = $2 and discount_id = $3 and kind = $4',
);
const postpone = scoped<{ tries: number }>(
  'catalog_tasks.postpone',
  `update catalog_tasks
   set tries = tries + 1, due_at = now() + least(interval '1 second' * 2 ^ least(tries, 20), interval '5 minutes')
   where account_id = $1 and test_mode = $2 and discount_id = $3 and kind = $4 returning tries`,
);
const selectDue = unscoped<DueRow>(
  'catalog_tasks.due',
  'select account_id, test_mode, discount_id, subscription_id, kind from due_catalog_tasks($1)',
);
const selectNext = unscoped<{ in_ms: number | null }>(
  'catalog_tasks.next',
  'select (extract(epoch from next_catalog_task() - now()) * 1000)::float8 as in_ms',
);
