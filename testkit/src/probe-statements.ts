import { declaredStatements } from '@eligo/postgres';
import pg from 'pg';
import { seededAccount } from './seeded.ts';
import type { TestDatabase } from './test-database.ts';

/**
 * Runs every declared statement as the service's own role, in the form for transactions and in the form for one trip, by the plan for all values, and
 * takes back what it wrote. Where a parameter is compared with a column its value is a seeded one, else one that nothing has. What the database refuses
 * of such values has to be run with others.
 */
export async function probeStatements(test: TestDatabase, schema: string, names: RegExp): Promise<void> {
  const client = new pg.Client(test.urlOf(schema));
  await client.connect();
  try {
    const values = await seededValues(test, schema);
    for (const statement of declaredStatements()) {
      if (!names.test(statement.name)) continue;
      const isRead =
        statement.kind === 'scoped' && statement.read !== undefined && !/\bfor (no key )?update\b/.test(statement.text);
      const texts = isRead && statement.read !== undefined ? [statement.text, statement.read.text] : [statement.text];
      for (const text of texts) await probe(client, text, statement.kind === 'scoped', values);
    }
  } finally {
    await client.end();
  }
}

async function probe(
  client: pg.Client,
  text: string,
  isScoped: boolean,
  values: ReadonlyMap<string, string>,
): Promise<void> {
  await client.query(
    `begin; set local plan_cache_mode = force_generic_plan; set local eligo.account_id = '${seededAccount}'; set local eligo.test_mode = 'true'`,
  );
  try {
    await client.query(`prepare probe as ${text}`);
    const { rows } = await client.query<{ types: string[] }>(
      "select parameter_types::text[] as types from pg_prepared_statements where name = 'probe'",
    );
    const types = rows[0]?.types ?? [];
    const scope = isScoped ? [seededAccount, 'true'] : [];
    const others = types
      .slice(scope.length)
      .map((type, at) => probeValue(type, columnOf(text, at + scope.length + 1), values));
    await client.query({ name: 'probed', text, values: [...scope, ...others] });
  } catch (error) {
    // A value of the wrong form, or one that a constraint or a trigger refuses.
    const isRefused = error instanceof pg.DatabaseError && /^(22|23|P0)/.test(error.code ?? '');
    if (!isRefused) throw new Error(`cannot run ${text}`, { cause: error });
  } finally {
    await client.query('rollback');
    await client.query('deallocate all');
    // The driver remembers what it has prepared under a name.
    (client as unknown as { connection: { parsedStatements: object } }).connection.parsedStatements = {};
  }
}

function probeValue(type: string, column: string | undefined, values: ReadonlyMap<string, string>): string {
  const known = column === undefined ? undefined : values.get(column);
  if (type.startsWith('text')) return type.endsWith('[]') ? `{${known ?? 'x'},y}` : (known ?? 'x');
  if (type.endsWith('[]')) return '{}';
  if (type.startsWith('bool')) return 'true';
  if (type.startsWith('timestamp')) return new Date().toISOString();
  if (type.startsWith('json')) return known?.startsWith('[') ? known : '{}';
  if (type === 'bytea') return '\\x00';
  return '10';
}

/** The column that a parameter is compared with, behind its table if the statement names one alone. */
function columnOf(text: string, parameter: number): string | undefined {
  const column = new RegExp(`(\\w+)\\s*=\\s*(?:any\\s*\\()?\\s*(?:\\(select )?\\$${parameter}(?!\\d)`).exec(text)?.[1];
  const table = /\b(?:from|update|into)\s+(?:\w+\.)?(\w+)/.exec(text)?.[1];
  return column === undefined ? undefined : `${table}.${column}`;
}

async function seededValues(test: TestDatabase, schema: string): Promise<ReadonlyMap<string, string>> {
  const columns = await test.admin<{ table: string; column: string }>(
    `select table_name as "table", column_name as "column" from information_schema.columns
     where table_schema = $1 and data_type = 'text' and table_name <> 'migrations'`,
    [schema],
  );
  const values = new Map<string, string>();
  for (const { table, column } of columns) {
    const [row] = await test.admin<{ value: string }>(
      `select ${column} as value from ${schema}.${table} where ${column} is not null offset 500 limit 1`,
    );
    if (row !== undefined) values.set(`${table}.${column}`, row.value);
  }
  return values;
}
