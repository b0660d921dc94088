import { type Database, unscoped } from '@eligo/postgres';

/** The substantiation of an account that checkout may not have yet. */
export interface StatementToTell {
  readonly accountId: string;
  readonly substantiation: string | null;
  readonly version: bigint;
}

/** A page of them, the oldest first, behind this version. */
export async function statementsToTell(database: Database, after: bigint, limit: number): Promise<StatementToTell[]> {
  const rows = await database.rows(select, null, [after, limit]);
  return rows.map(({ account_id: accountId, substantiation, version }) => ({ accountId, substantiation, version }));
}

/** Removes a statement that checkout has recorded. A newer one of the account stays. */
export async function markStatementTold(database: Database, { accountId, version }: StatementToTell): Promise<void> {
  await database.execute(remove, null, [accountId, version]);
}

const select = unscoped<{ account_id: string; substantiation: string | null; version: bigint }>(
  'statements_to_tell.page',
  'select account_id, substantiation, version from statements_to_tell where version > $1 order by version limit $2',
);
const remove = unscoped<never>(
  'statements_to_tell.remove',
  'delete from statements_to_tell where account_id = $1 and version = $2',
);
