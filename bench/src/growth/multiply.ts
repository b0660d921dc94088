import type pg from 'pg';

/** Tables of which an account has few, whatever it sells, or whose rows say what the broker holds. */
const notMultiplied = new Set([
  'endpoints',
  'endpoint_secrets',
  'lanes',
  'dead_letters',
  'invoice_numbers',
  'accounts',
  'api_keys',
  'organizations',
  'operator_actions',
  'file_usage',
  'health_card_statements',
  'ledger_feeds',
  'event_lists',
]);

/** Summaries of days, however much is sold in one: three years of them. */
const summedDays: Readonly<Record<string, string>> = { ledger_activity: 'day', ledger_totals: 'begins_on' };
const mostSummedDays = 1_000;

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
}

interface Table {
  /** With its schema. */
  readonly name: string;
  readonly columns: readonly Column[];
}

/**
 * Copies each row of an account until every table has at least this many of the account's rows. The identifiers of copy `n` end in `n`, in six
 * hexadecimal digits, so that copies refer to copies as the rows that they were made of refer to each other. Answers how many copies every
 * table has at least: of these, all that belongs together is there. Foreign keys are right by construction, so none is checked.
 */
export async function multiplyRecords(
  postgres: pg.Pool,
  accountId: string,
  records: number,
  onShort: (what: string) => void,
): Promise<number> {
  const client = await postgres.connect();
  let fewest = records;
  try {
    for (const table of await tablesOf(client)) {
      const present = await countOf(client, table, accountId);
      const isSummary = shortName(table) in summedDays;
      if (present === 0 || (present >= records && !isSummary)) continue;
      const copies = isSummary ? Math.min(mostSummedDays, records) : Math.ceil(records / present);
      await copyRows(client, table, accountId, copies);
      if (isSummary) continue;
      fewest = Math.min(fewest, copies);
      const reached = await countOf(client, table, accountId);
      if (reached < records) onShort(`${table.name} holds ${reached} records of the account, not ${records}`);
      await client.query(`vacuum (analyze) ${table.name}`);
    }
    await client.query(namesOfComponents, [accountId]);
    await client.query('vacuum (analyze) catalog.component_names');
    await client.query('checkpoint');
  } finally {
    client.release();
  }
  return fewest;
}

// A component's name belongs to all accounts.
const namesOfComponents = `
  insert into catalog.component_names (test_mode, name_hash, component_id, created_at)
  select test_mode, sha256(convert_to(component_id, 'UTF8')), component_id, created_at from catalog.component_nutrition n
  where account_id = $1 and not exists (select from catalog.component_names k where k.component_id = n.component_id)
  on conflict do nothing`;

function shortName({ name }: Table): string {
  return name.slice(name.indexOf('.') + 1);
}

/** Copies these tables' rows of an account so many times, with other identifiers of these kinds alone. */
export async function copyRecords(
  postgres: pg.Pool,
  accountId: string,
  { tables, kinds }: { readonly tables: readonly string[]; readonly kinds: readonly string[] },
  copies: number,
): Promise<void> {
  const client = await postgres.connect();
  try {
    const found = (await tablesOf(client)).filter(({ name }) => tables.includes(name));
    for (const table of found)
      await copyRows(client, table, accountId, copies, identifiersOf(`(?:${kinds.join('|')})`));
  } finally {
    client.release();
  }
}

async function countOf(client: pg.PoolClient, { name }: Table, accountId: string): Promise<number> {
  const { rows } = await client.query<{ count: string }>(`select count(*) from ${name} where account_id = $1`, [
    accountId,
  ]);
  return Number(rows[0]?.count);
}

/** The identifier of a copy. */
export function copyOf(id: string, copy: number): string {
  return `${id.slice(0, -6)}${copy.toString(16).padStart(6, '0')}`;
}

async function copyRows(
  client: pg.PoolClient,
  table: Table,
  accountId: string,
  copies: number,
  identifiers = identifiersOf('(?!facct_|fwh_)[a-z]+'),
): Promise<void> {
  const names = table.columns.map(({ name }) => client.escapeIdentifier(name));
  await client.query('begin');
  try {
    await client.query('set local session_replication_role = replica');
    await client.query(
      `insert into ${table.name} (${names.join(', ')})
       select ${table.columns.map((column) => copied(column, client.escapeIdentifier(column.name), identifiers)).join(', ')}
       from ${table.name} t cross join (select place, lpad(to_hex(place), 6, '0') as ending from generate_series(1, $2::integer) place) c
       where t.account_id = $1
       on conflict do nothing`,
      [accountId, copies],
    );
    await client.query('commit');
  } catch (error) {
    // The connection is used again.
    await client.query('rollback');
    throw new Error(`${table.name} cannot be copied`, { cause: error });
  }
}

// What of an identifier or a UUID stays; those of the account and of webhook endpoints, which are not copied, stay whole.
const identifiersOf = (kind: string) => String.raw`\m(${kind}_[0-7][0-9a-z]{19})[0-9a-z]{6}\M`;
const uuids = '([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{6})[0-9a-f]{6}';

function copied({ table, name, type }: Column, quoted: string, identifiers: string): string {
  const value = `t.${quoted}`;
  if (name === 'account_id' || name === 'endpoint_id' || name === 'webhook_endpoint_id') return value;
  // A copy of an event stands in no queue: it counts as published, in a place that the stream does not know.
  if (table === 'outbox' && ['published_at', 'stream_seq'].includes(name)) return 'null';
  // Made when they are read; a million of them are 30 GB.
  if (table === 'receipts' && ['html', 'pdf'].includes(name)) return 'null';
  if (name === summedDays[table]) return earlier(table, value);
  // Numbers of invoices are unique in an account: behind each there is room for its copies.
  if (table === 'invoices' && name === 'number') return `${value} * 10000000 + c.place`;
  const replaced = (text: string) =>
    `regexp_replace(regexp_replace(${text}, '${identifiers}', '\\1' || c.ending, 'g'), '${uuids}', '\\1' || c.ending, 'gi')`;
  if (type === 'text') return replaced(value);
  if (type === 'jsonb') return `${replaced(`${value}::text`)}::jsonb`;
  if (type === 'text[]') return `${replaced(`${value}::text`)}::text[]`;
  return value;
}

// A month begins on its first day.
function earlier(table: string, day: string): string {
  const days = `${day} - c.place`;
  return table === 'ledger_totals'
    ? `case t.grain when 'day' then ${days} else (${day} - make_interval(months => c.place))::date end`
    : days;
}

async function tablesOf(client: pg.PoolClient): Promise<Table[]> {
  const { rows } = await client.query<Column & { schema: string }>(select);
  const tables = new Map<string, Column[]>();
  for (const { schema, ...column } of rows) {
    const name = `${schema}.${column.table}`;
    tables.set(name, [...(tables.get(name) ?? []), column]);
  }
  return [...tables]
    .filter(([, columns]) => columns.some(({ name }) => name === 'account_id'))
    .filter(([, [first]]) => !notMultiplied.has(first?.table ?? ''))
    .map(([name, columns]) => ({ name, columns }));
}

const select = `
  select n.nspname as schema, c.relname as table, a.attname as name, format_type(a.atttypid, null) as type
  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('gateway', 'catalog', 'checkout', 'billing', 'refunds', 'webhooks')
    and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  order by 1, 2, a.attnum`;
