import type { TestDatabase } from '@eligo/testkit';

/** What a guard is given instead of what the prepared row has. */
export type Columns = Readonly<Record<string, string | number | null>>;

/** Writes the prepared row once more with other values, past the code. What no guard refuses ends at the row's own key, so nothing is ever stored. */
export function insertAgain(test: TestDatabase, table: string, id: string, columns: Columns): Promise<unknown> {
  return test.admin(
    `insert into checkout.${table} select other.* from checkout.${table} own, jsonb_populate_record(own, $2) other where own.id = $1`,
    [id, columns],
  );
}

/** Changes the prepared row, past the code. */
export function change(test: TestDatabase, table: string, id: string, columns: Columns): Promise<unknown> {
  const set = Object.keys(columns).map((name) => `${name} = (jsonb_populate_record(own, $2)).${name}`);
  return test.admin(`update checkout.${table} own set ${set.join(', ')} where own.id = $1`, [id, columns]);
}

/** The names of the checks that a guard makes, as its text has them. */
export async function checksOf(test: TestDatabase, guard: string): Promise<string[]> {
  const rows = await test.admin<{ name: string }>(
    `select (regexp_matches(prosrc, 'then ''(\\w+)''', 'g'))[1] as name from pg_proc where oid = $1::regproc`,
    [`checkout.${guard}`],
  );
  return rows.map(({ name }) => name).sort();
}
