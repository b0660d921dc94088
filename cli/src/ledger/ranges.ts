import { sqlState } from '@eligo/postgres';
import { type Fault, type Findings, mostFaults } from './findings.ts';

/** Runs one statement, by itself or in a snapshot. */
export type Rows = <Row>(name: string, text: string, values: readonly unknown[]) => Promise<Row[]>;

/**
 * A comparison of the rows of one table with others, range by range in the order of an index. Its text reads the range as `page`. It finds other rows by their keys
 * alone, each in a lateral subquery that the planner cannot turn into a join over a whole table: so a range costs the same in books of any size.
 */
export interface RangeCheck {
  readonly of: string;
  /** The columns of the index. */
  readonly key: readonly string[];
  /** What the text reads beside them. */
  readonly columns?: readonly string[];
  /** Selects `state, fault, account_id, test_mode, id, detail`. */
  readonly faults: string;
}

export interface RangeOptions {
  /** Rows of a range, at most; less once a range has exceeded the limit of a statement. */
  readonly size?: number | undefined;
  /** Told of each range that was compared: of what, and how many rows it had. */
  readonly onRange?: ((of: string, rows: number) => void) | undefined;
  /** Called before a range is looked at again. */
  readonly beforeAgain?: (() => Promise<void>) | undefined;
  /** Decides what of a range the statement could not. */
  readonly decide?: ((found: FoundFault[]) => Promise<readonly Fault[]>) | undefined;
}

/** A fault as a statement finds it: one in the state `told` is on its way if the event that tells it is. */
export interface FoundFault extends Omit<Fault, 'state'> {
  readonly state: Fault['state'] | 'told';
}

/** Some tens of milliseconds. */
const usualSize = 4_000;
const smallestSize = 50;

/** Compares all rows of a table, one range after the other, each by a statement with a limit of its own. Holds the faults of a range at a time. */
export async function checkRanges(
  rows: Rows,
  check: RangeCheck,
  findings: Findings,
  options: RangeOptions = {},
): Promise<void> {
  let size = options.size ?? usualSize;
  const highest = check.key.map((column) => edgesOf(column).highest);
  for (let after: readonly string[] = check.key.map((column) => edgesOf(column).lowest); ; ) {
    const range = await readRange(rows, check, { after, upTo: highest, size });
    size = range.size;
    const from = after;
    const { last } = range;
    const upTo = last ?? highest;
    const look = (found: FoundFault[]) => options.decide?.(found) ?? Promise.resolve(found as Fault[]);
    findings.add(await look(range.faults), async () => {
      await options.beforeAgain?.();
      return look(await readBetween(rows, check, { after: from, upTo, size }));
    });
    options.onRange?.(check.of, range.rows);
    if (last === undefined || range.rows < size) return;
    after = last;
  }
}

interface Between {
  readonly after: readonly string[];
  readonly upTo: readonly string[];
  readonly size: number;
}

// Rows that came since the first look make a second range.
async function readBetween(rows: Rows, check: RangeCheck, { after, upTo, size }: Between): Promise<FoundFault[]> {
  const faults: FoundFault[] = [];
  for (let from = after; ; ) {
    const range = await readRange(rows, check, { after: from, upTo, size });
    faults.push(...range.faults);
    if (range.last === undefined || range.rows < range.size) return faults;
    from = range.last;
  }
}

interface Range {
  readonly faults: FoundFault[];
  readonly rows: number;
  /** The last row's key; undefined where there was none. */
  readonly last: readonly string[] | undefined;
  /** With which size it was read. */
  readonly size: number;
}

async function readRange(rows: Rows, check: RangeCheck, { after, upTo, size }: Between): Promise<Range> {
  return inSmallerRanges(size, async (tried) => {
    const found = await rows<FoundRow>(`ledger_check.${check.of}`, textOf(check, tried), [...after, ...upTo]);
    const page = found.find(({ fault }) => fault === rangeItself);
    const faults = found.filter((one) => one !== page).map(({ last: _, ...fault }) => fault);
    return { faults, rows: Number(page?.detail ?? 0), last: page?.last ?? undefined, size: tried };
  });
}

/** Compares a range by statements within their limit: what takes the server longer is tried again in eighths. */
export async function inSmallerRanges<Value>(size: number, compare: (size: number) => Promise<Value>): Promise<Value> {
  for (let tried = size; ; tried = Math.max(smallestSize, Math.floor(tried / 8))) {
    try {
      return await compare(tried);
    } catch (error) {
      // The server ended a statement.
      if (sqlState(error) !== '57014' || tried <= smallestSize) throw error;
    }
  }
}

// One row of the answer says which rows were compared.
const rangeItself = 'range';

interface FoundRow extends FoundFault {
  readonly last: readonly string[] | null;
}

// The limit is a literal: the planner takes a parameter for a tenth of the table. Faults beyond 1,000 say that there are more. None in the state `told` is cut off: a row
// has at most one.
function textOf({ of, key, columns = [], faults }: RangeCheck, size: number): string {
  const keys = key.join(', ');
  const bounds = (first: number) => key.map((column, at) => `$${first + at}::${edgesOf(column).type}`).join(', ');
  return `with page as materialized (
    select ${[...key, ...columns].join(', ')} from ${of}
    where (${keys}) > (${bounds(1)}) and (${keys}) <= (${bounds(1 + key.length)})
    order by ${keys} limit ${size}
  ), found (state, fault, account_id, test_mode, id, detail) as (
    ${faults}
  )
  (select state, fault, account_id, test_mode, id, detail, null::text[] as last from found
    order by state = 'unsettled', fault, id limit ${size + mostFaults})
  union all
  select 'wrong', '${rangeItself}', null, null, '', (select count(*)::text from page),
    (select array[${key.map((column) => `${column}::text`).join(', ')}] from page order by ${key.map((column) => `${column} desc`).join(', ')} limit 1)`;
}

interface Edges {
  readonly type: string;
  /** Nothing is before this. */
  readonly lowest: string;
  /** Nothing is behind this. */
  readonly highest: string;
}

// Identifiers and names are of letters, digits and lines. The first column decides where all rows are.
const edges: Readonly<Record<string, Edges>> = {
  test_mode: { type: 'boolean', lowest: 'false', highest: 'true' },
  processor: { type: 'refunds.processor', lowest: 'sandbox', highest: 'stripe' },
  begins_on: { type: 'date', lowest: '-infinity', highest: 'infinity' },
  seq: { type: 'bigint', lowest: '-1', highest: '9007199254740991' },
};

function edgesOf(column: string): Edges {
  return edges[column] ?? { type: 'text', lowest: '', highest: '~' };
}
