import { Database, type Db, unscoped, withTx } from '@eligo/postgres';
import type { Fault, Findings } from './findings.ts';
import { inSmallerRanges, type Rows } from './ranges.ts';

// Sums are compared for whole days of an account: those that the reconciliation report reads with the postings, and those that a processor listed with the movements
// that are stored. A day can have any number of rows, so they are summed range by range, all ranges of a day in one snapshot.

export interface SumsOptions {
  /** Rows that are summed at once, and at least in one snapshot. */
  readonly size?: number | undefined;
  readonly onRange?: ((of: string, rows: number) => void) | undefined;
}

/** Some tens of milliseconds. */
const usualSize = 4_000;

/** Compares the sums of each day with the rows that they sum up. */
export async function checkSums(db: Db, findings: Findings, options: SumsOptions = {}): Promise<void> {
  const { size = usualSize } = options;
  const anyCompared =
    (await rowsOf(db)('ledger_check.any_compared', 'select from refunds.checked_days limit 1', [])).length > 0;
  for (const sums of anyCompared ? [postings, listedDays] : [postings]) {
    for (let after = sums.lowest; ; ) {
      const from = after;
      const upTo = await endOf(rowsOf(db), sums, from, size);
      const look = () => inSmallerRanges(size, (tried) => compare(db, sums, from, upTo ?? sums.highest, tried));
      findings.add(await look(), look);
      options.onRange?.(sums.of, size);
      if (upTo === undefined) break;
      after = upTo;
    }
  }
}

/** A table whose rows are summed by day. */
interface Sums {
  readonly of: string;
  /** The columns of an index that ends with the time. */
  readonly key: readonly string[];
  readonly types: readonly string[];
  readonly lowest: readonly string[];
  readonly highest: readonly string[];
  /** Sums of the rows between two keys: `SumRow`s. */
  readonly actual: string;
  /** The stored sums between two days of two accounts: `SumRow`s. */
  readonly stored: string;
  faultOf(key: SumRow, stored: SumRow | undefined, actual: SumRow | undefined): Pick<Fault, 'fault' | 'id' | 'detail'>;
}

interface SumRow {
  /** What is summed: `total`, `activity` or `listed`. */
  readonly kind: string;
  readonly account_id: string;
  readonly test_mode: boolean;
  readonly day: string;
  readonly processor: string;
  readonly processor_account: string;
  /** The ledger account, or the cause, type and category. */
  readonly name: string;
  readonly count: bigint;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly net: bigint;
}

// The end of the day in which the next so many rows end; undefined where fewer are left.
async function endOf(
  rows: Rows,
  sums: Sums,
  after: readonly string[],
  size: number,
): Promise<readonly string[] | undefined> {
  const edge = await edgeOf(rows, sums, after, sums.highest, size);
  return edge && [...edge.slice(0, -1), endOfDay(edge.at(-1) ?? '')];
}

function endOfDay(at: string): string {
  return `${at.slice(0, 10)}T23:59:59.999Z`;
}

/** The key of the row that is so many rows behind another; undefined where fewer are left. */
async function edgeOf(rows: Rows, sums: Sums, after: readonly string[], upTo: readonly string[], size: number) {
  const [row] = await rows<{ edge: string[] }>(
    `ledger_check.edge ${sums.of}`,
    `select array[${sums.key.map(textOf).join(', ')}] as edge from ${sums.of} where ${between(sums)}
     order by ${sums.key.join(', ')} offset ${size - 1} limit 1`,
    [...after, ...upTo],
  );
  return row?.edge;
}

function textOf(column: string): string {
  const isTime = column.endsWith('_at');
  return isTime ? `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')` : `${column}::text`;
}

function between({ key, types }: Pick<Sums, 'key' | 'types'>, first = 1): string {
  const names = key.join(', ');
  const bounds = (at: number) => types.map((type, n) => `$${at + n}::${type}`).join(', ');
  return `(${names}) > (${bounds(first)}) and (${names}) <= (${bounds(first + key.length)})`;
}

// By one statement, or range by range in one snapshot where a day has more rows than that.
async function compare(
  db: Db,
  sums: Sums,
  after: readonly string[],
  upTo: readonly string[],
  size: number,
): Promise<Fault[]> {
  const isLong = (await edgeOf(rowsOf(db), sums, after, upTo, 2 * size)) !== undefined;
  const pairs = isLong
    ? await sumInRanges(db, sums, after, upTo, size)
    : await sumAtOnce(rowsOf(db), sums, after, upTo);
  return pairs.map(({ stored, actual }) => {
    const key = (stored ?? actual) as SumRow;
    const { account_id, test_mode } = key;
    return { state: 'wrong', account_id, test_mode, ...sums.faultOf(key, stored, actual) };
  });
}

/** A stored sum that is not the sum of its rows. */
interface Pair {
  readonly stored: SumRow | undefined;
  readonly actual: SumRow | undefined;
}

async function sumAtOnce(rows: Rows, sums: Sums, after: readonly string[], upTo: readonly string[]): Promise<Pair[]> {
  const found = await rows<{ stored: SumText | null; actual: SumText | null }>(
    `ledger_check.sums ${sums.of}`,
    `with actual as (${sums.actual}), stored as (${sums.stored})
     select ${rowAsText('stored')}, ${rowAsText('actual')} from actual full join stored using (${sumKey.join(', ')})
     where ${figuresOf('actual')} <> ${figuresOf('stored')}`,
    [...after, ...upTo],
  );
  return found.map(({ stored, actual }) => ({ stored: fromText(stored), actual: fromText(actual) }));
}

async function sumInRanges(
  db: Db,
  sums: Sums,
  after: readonly string[],
  upTo: readonly string[],
  size: number,
): Promise<Pair[]> {
  const [actual, stored] = await inSnapshot(db, async (rows) => {
    const actual = new Map<string, SumRow>();
    for (let from = after; ; ) {
      const edge = await edgeOf(rows, sums, from, upTo, size);
      const to = edge ?? upTo;
      const part = await rows<SumRow>(`ledger_check.sum ${sums.of}`, sums.actual, [...from, ...to]);
      for (const row of part) add(actual, row);
      if (edge === undefined) break;
      from = to;
    }
    const stored = await rows<SumRow>(`ledger_check.stored ${sums.of}`, sums.stored, [...after, ...upTo]);
    return [actual, new Map(stored.map((row) => [nameOf(row), row]))] as const;
  });
  const names = [...new Set([...actual.keys(), ...stored.keys()])];
  const pairs = names.map((name) => ({ stored: stored.get(name), actual: actual.get(name) }));
  return pairs.filter((pair) => figures(pair.stored) !== figures(pair.actual));
}

const sumKey = ['kind', 'account_id', 'test_mode', 'day', 'processor', 'processor_account', 'name'] as const;
const sumFigures = ['count', 'amount', 'fee', 'net'] as const;

/** A sum as JSON has it: a number there is no bigint. */
type SumText = Omit<SumRow, (typeof sumFigures)[number]> & Record<(typeof sumFigures)[number], string>;

function rowAsText(side: string): string {
  const pairs = [
    ...sumKey.map((name) => `'${name}', ${name}`),
    ...sumFigures.map((name) => `'${name}', ${side}.${name}::text`),
  ];
  return `case when ${side}.count is not null then jsonb_build_object(${pairs.join(', ')}) end as ${side}`;
}

function figuresOf(side: string): string {
  return `(${sumFigures.map((name) => `coalesce(${side}.${name}, 0)`).join(', ')})`;
}

function fromText(row: SumText | null): SumRow | undefined {
  if (row === null) return undefined;
  const [count, amount, fee, net] = [row.count, row.amount, row.fee, row.net].map((text) => BigInt(text)) as [
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  return { ...row, count, amount, fee, net };
}

function nameOf({ kind, account_id, test_mode, day, processor, processor_account, name }: SumRow): string {
  return [kind, account_id, test_mode, day, processor, processor_account, name].join(' ');
}

function add(sums: Map<string, SumRow>, row: SumRow): void {
  const before = sums.get(nameOf(row));
  const { count, amount, fee, net } = before ?? { count: 0n, amount: 0n, fee: 0n, net: 0n };
  const sum = { count: count + row.count, amount: amount + row.amount, fee: fee + row.fee, net: net + row.net };
  sums.set(nameOf(row), { ...row, ...sum });
}

function figures(row: SumRow | undefined): string {
  return row === undefined ? '0 0 0 0' : `${row.count} ${row.amount} ${row.fee} ${row.net}`;
}

function rowsOf(db: Db): Rows {
  return (name, text, values) => db.rows(unscoped<never>(name, text), null, values);
}

// A transaction of a caller is its own snapshot.
function inSnapshot<Value>(db: Db, work: (rows: Rows) => Promise<Value>): Promise<Value> {
  if (!(db instanceof Database)) return work(rowsOf(db));
  return withTx(db, null, (tx) => work(rowsOf(tx)), { isolation: 'repeatable read' });
}

const dayOf = (at: string) => `(${at} at time zone 'UTC')::date`;
// The first and the last parameter of a range are of the time, in UTC.
const daysBetween = (key: readonly string[], day: string, types: readonly string[]) => {
  const names = [...key, day].join(', ');
  const bounds = (first: number) =>
    [...types.map((type, n) => `$${first + n}::${type}`), dayOf(`$${first + types.length}::timestamptz`)].join(', ');
  return `(${names}) > (${bounds(1)}) and (${names}) <= (${bounds(types.length + 2)})`;
};

const scopeTypes = ['text', 'boolean'];
const postings: Sums = {
  of: 'refunds.ledger_transactions',
  key: ['account_id', 'test_mode', 'occurred_at'],
  types: [...scopeTypes, 'timestamptz'],
  lowest: ['', 'false', '-infinity'],
  highest: ['~', 'true', 'infinity'],
  actual: `with page as materialized (
      select account_id, test_mode, id, kind, processor, processor_account, processor_transaction_id, amount_cents, fee_cents, net_cents,
        ${dayOf('occurred_at')} as day
      from refunds.ledger_transactions where ${between({ key: ['account_id', 'test_mode', 'occurred_at'], types: [...scopeTypes, 'timestamptz'] })}
    )
    select 'total' as kind, p.account_id, p.test_mode, p.day::text as day, p.processor::text as processor, p.processor_account, q.ledger_account as name,
      0::bigint as count, sum(q.amount_cents)::bigint as amount, 0::bigint as fee, 0::bigint as net
    from page p
    cross join lateral (select q.ledger_account, q.amount_cents from refunds.ledger_postings q
      where (q.account_id, q.test_mode, q.transaction_id) = (p.account_id, p.test_mode, p.id) offset 0) q
    group by 2, 3, 4, 5, 6, 7
    union all
    select 'activity', p.account_id, p.test_mode, p.day::text, p.processor::text, p.processor_account,
      concat_ws(' ', case when p.processor_transaction_id is null then 'journal' else 'balance' end, coalesce(m.type, p.kind), coalesce(m.reporting_category, '')),
      count(*), sum(p.amount_cents)::bigint, coalesce(sum(p.fee_cents), 0)::bigint, coalesce(sum(p.net_cents), 0)::bigint
    from page p
    left join lateral (select m.type, m.reporting_category from refunds.processor_transactions m
      where (m.account_id, m.test_mode, m.processor, m.processor_account, m.id)
        = (p.account_id, p.test_mode, p.processor, p.processor_account, p.processor_transaction_id) offset 0) m on true
    group by 2, 3, 4, 5, 6, 7`,
  stored: `select 'total' as kind, account_id, test_mode, begins_on::text as day, processor::text as processor, processor_account, ledger_account as name,
      0::bigint as count, amount_cents as amount, 0::bigint as fee, 0::bigint as net
    from refunds.ledger_totals where grain = 'day' and amount_cents <> 0 and ${daysBetween(['account_id', 'test_mode'], 'begins_on', scopeTypes)}
    union all
    select 'activity', account_id, test_mode, day::text, processor::text, processor_account, concat_ws(' ', cause, type, reporting_category),
      transactions, amount_cents, fee_cents, net_cents
    from refunds.ledger_activity where ${daysBetween(['account_id', 'test_mode'], 'day', scopeTypes)}`,
  faultOf: ({ kind, day, name }, stored, actual) => {
    if (kind === 'total') {
      const detail = `total of the day ${stored?.amount ?? 0}, postings ${actual?.amount ?? 0}`;
      return { fault: 'total_differs_from_postings', id: `${day} ${name}`, detail };
    }
    const [, type = ''] = name.split(' ');
    const detail = `${said(stored)}; transactions ${said(actual)}`;
    return { fault: 'activity_differs_from_transactions', id: `${day} ${type}`, detail };
  },
};

const feedKey = ['account_id', 'test_mode', 'processor', 'processor_account'];
const feedTypes = [...scopeTypes, 'refunds.processor', 'text'];
/** What the processor listed when `ledger check --processor` compared the day. */
const listedDays: Sums = {
  of: 'refunds.processor_transactions',
  key: [...feedKey, 'created_at'],
  types: [...feedTypes, 'timestamptz'],
  lowest: ['', 'false', 'sandbox', '', '-infinity'],
  highest: ['~', 'true', 'stripe', '~', 'infinity'],
  // Only of days that were compared.
  actual: `with days as materialized (
      select m.account_id, m.test_mode, m.processor, m.processor_account, ${dayOf('m.created_at')} as day, count(*) as count,
        sum(m.amount_cents)::bigint as amount, sum(m.fee_cents)::bigint as fee, sum(m.net_cents)::bigint as net
      from refunds.processor_transactions m where ${between({ key: [...feedKey, 'created_at'], types: [...feedTypes, 'timestamptz'] })}
      group by 1, 2, 3, 4, 5
    )
    select 'listed' as kind, d.account_id, d.test_mode, d.day::text as day, d.processor::text as processor, d.processor_account, '' as name,
      d.count, d.amount, d.fee, d.net
    from days d where exists (select from refunds.checked_days c
      join refunds.ledger_feeds f using (account_id, test_mode, processor, processor_account)
      where (c.account_id, c.test_mode, c.processor, c.processor_account, c.day) = (d.account_id, d.test_mode, d.processor, d.processor_account, d.day)
        and f.begins_at >= c.begins_at offset 0)`,
  stored: `select 'listed' as kind, c.account_id, c.test_mode, c.day::text as day, c.processor::text as processor, c.processor_account, '' as name,
      c.movements as count, c.amount_cents as amount, c.fee_cents as fee, c.net_cents as net
    from (select * from refunds.checked_days where ${daysBetween(feedKey, 'day', feedTypes)}) c
    join refunds.ledger_feeds f using (account_id, test_mode, processor, processor_account)
    where f.begins_at >= c.begins_at`,
  faultOf: ({ day, processor_account }, stored, actual) => {
    const detail = `${said(actual)}; the processor listed ${said(stored)}`;
    return { fault: 'day_differs_from_processor', id: `${day} ${processor_account}`, detail };
  },
};

function said(row: SumRow | undefined): string {
  const { count, amount, fee, net } = row ?? { count: 0, amount: 0, fee: 0, net: 0 };
  return `${count} of ${amount}, fee ${fee}, net ${net}`;
}
