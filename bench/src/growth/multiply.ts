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
  'shop_names',
  'time_zones',
  'account_features',
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
  const tables = await tablesOf(postgres);
  let fewest = records;
  const work = async () => {
    const client = await postgres.connect();
    try {
      for (let table = tables.shift(); table !== undefined; table = tables.shift()) {
        const copies = await multiplyTable(client, table, accountId, records, onShort);
        fewest = Math.min(fewest, copies ?? fewest);
      }
    } finally {
      client.release();
    }
  };
  await Promise.all(Array.from({ length: postgres.options.max }, work));
  await postgres.query(namesOfComponents, [accountId]);
  await postgres.query('vacuum (analyze) catalog.component_names');
  return fewest;
}

// Answers how many copies belong together, unless those of this table belong to days or were there.
async function multiplyTable(
  client: pg.PoolClient,
  table: Table,
  accountId: string,
  records: number,
  onShort: (what: string) => void,
): Promise<number | undefined> {
  const present = await countOf(client, table, accountId);
  const isSummary = shortName(table) in summedDays;
  if (present === 0 || (present >= records && !isSummary)) return undefined;
  const copies = isSummary ? Math.min(mostSummedDays, records) : Math.ceil(records / present);
  const added = await copyRows(client, table, accountId, copies);
  if (!isSummary && present + added < records) {
    onShort(`${table.name} holds ${present + added} records of the account, not ${records}`);
  }
  await client.query(`vacuum (analyze) ${table.name}`);
  return isSummary ? undefined : copies;
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
    const found = (await tablesOf(postgres)).filter(({ name }) => tables.includes(name));
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
): Promise<number> {
  const names = table.columns.map(({ name }) => client.escapeIdentifier(name));
  const templates = await templatesOf(client, table, accountId, identifiers);
  const quoted = (name: string) => client.escapeIdentifier(name);
  await client.query('begin');
  try {
    await client.query('set local session_replication_role = replica');
    const { rowCount } = await client.query(
      `with templates as materialized (
         select ${table.columns.map(({ name }) => `${templates.get(name) ?? `t.${quoted(name)}`} as ${quoted(name)}`).join(', ')}
         from ${table.name} t where t.account_id = $1)
       insert into ${table.name} (${names.join(', ')})
       select ${table.columns.map((column) => copied(column, quoted(column.name), templates.has(column.name))).join(', ')}
       from templates t cross join lateral (
         select place, lpad(to_hex(place), 6, '0') as ending from generate_series(1, $2::integer) place offset 0) c
       on conflict do nothing`,
      [accountId, copies],
    );
    await client.query('commit');
    return rowCount ?? 0;
  } catch (error) {
    // The connection is used again.
    await client.query('rollback');
    throw new Error(`${table.name} cannot be copied`, { cause: error });
  }
}

// What of an identifier or a UUID stays; those of the account and of webhook endpoints, which are not copied, stay whole.
const identifiersOf = (kind: string) => String.raw`\m(${kind}_[0-7][0-9a-z]{19})[0-9a-z]{6}\M`;
const uuids = '([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{6})[0-9a-f]{6}';
const sameInCopies = new Set(['account_id', 'endpoint_id', 'webhook_endpoint_id']);

/**
 * The columns that name identifiers, each with the SQL of its value in which a mark stands for the end of each. Searching every copy for identifiers
 * takes longer than writing it: a few rows are searched, and their copies replace the mark.
 */
async function templatesOf(
  client: pg.PoolClient,
  { name, columns }: Table,
  accountId: string,
  identifiers: string,
): Promise<Map<string, string>> {
  const texts = columns.filter(
    (column) => /^(text|jsonb|text\[\])$/.test(column.type) && !sameInCopies.has(column.name),
  );
  if (texts.length === 0) return new Map();
  const values = texts.map((column) => ({
    name: column.name,
    value: `t.${client.escapeIdentifier(column.name)}::text`,
  }));
  const { rows } = await client.query<Record<string, boolean | null>>(
    `select ${values.map(({ value }, at) => `bool_or(${value} ~ '${identifiers}' or ${value} ~* '${uuids}') as c${at}`).join(', ')}
     from ${name} t where t.account_id = $1`,
    [accountId],
  );
  const bearing = values.filter((_, at) => rows[0]?.[`c${at}`] === true);
  return new Map(
    bearing.map((column) => [
      column.name,
      `regexp_replace(regexp_replace(${column.value}, '${identifiers}', '\\1' || ${mark}, 'g'), '${uuids}', '\\1' || ${mark}, 'gi')`,
    ]),
  );
}

// No text of Eligo's holds it, and JSON writes it in another way.
const mark = 'chr(1)';

function copied({ table, name, type }: Column, quoted: string, isTemplate: boolean): string {
  const value = `t.${quoted}`;
  if (sameInCopies.has(name)) return value;
  // A copy of an event stands in no queue: it counts as published, in a place that the stream does not know.
  if (table === 'outbox' && ['published_at', 'stream_seq'].includes(name)) return 'null';
  // Made when they are read; a million of them are 30 GB.
  if (table === 'receipts' && ['html', 'pdf'].includes(name)) return 'null';
  if (name === summedDays[table]) return earlier(table, value);
  // Numbers of invoices are unique in an account: behind each there is room for its copies.
  if (table === 'invoices' && name === 'number') return `${value} * 10000000 + c.place`;
  if (!isTemplate) return value;
  return `replace(${value}, ${mark}, c.ending)${type === 'text' ? '' : `::${type}`}`;
}

// A month begins on its first day.
function earlier(table: string, day: string): string {
  const days = `${day} - c.place`;
  return table === 'ledger_totals'
    ? `case t.grain when 'day' then ${days} else (${day} - make_interval(months => c.place))::date end`
    : days;
}

async function tablesOf(postgres: pg.Pool): Promise<Table[]> {
  const { rows } = await postgres.query<Column & { schema: string }>(select);
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
