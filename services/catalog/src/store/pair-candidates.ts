import type { Cut, ListShape } from './page.ts';

/** A filter by metadata pairs on their own table; every text is SQL, with parameters for the values. */
export interface PairFilter {
  readonly table: string;
  readonly id: string;
  /** At least one. */
  readonly pairs: readonly { readonly key: string; readonly value: string }[];
  /** A further condition on a row of the pairs' table, by the name that the row has. */
  readonly onRow?: (row: string) => string;
  /** A further condition on a candidate, by the expression of its id. */
  readonly onId?: (id: string) => string;
}

// A pair that no more records than this have leads by itself. Finding that out costs a step over as many index entries for each pair, some
// twenty microseconds; a pair just above it costs a merge over at most a page's share of the other one.
const rare = 100;

// How many entries of each pair the first look reads: enough for a page of ten by pairs that one record in thirteen has.
const firstLook = 150;

/**
 * The ids of a page of records that have all of two pairs or more, as far as the newest entries of each pair go: a record that is found among
 * them comes before any that is not, but there may be more. Most pages are filled by it; where it is not, `pairCandidates` finds the page.
 * An intersection, because it costs the same whatever the planner expects of the values.
 */
function newestPairCandidates(filter: PairFilter, { beyond, order }: Cut): string {
  const { table, id, pairs, onId } = filter;
  const newest = pairs.map(
    (pair) =>
      `(select m.${id} as id from ${table} m where ${entriesOf(filter, 'm', pair)} and ${beyond(`m.${id}`)}
        order by m.${id} ${order} limit ${firstLook})`,
  );
  return `select page.id from (${newest.join(' intersect ')}) page${onId === undefined ? '' : ` where ${onId('page.id')}`}
    order by page.id ${order} limit $3 offset $4`;
}

/**
 * The ids of a page of records that have all the pairs. A pair that few records have leads, and the others are looked up for each of those;
 * where all are frequent, their index scans, which are in the list's order, are merged until the page is full. A plan that chose one way for
 * both would read a million entries in one of the cases.
 */
export function pairCandidates(filter: PairFilter, { beyond, order, most }: Cut): string {
  const { table, id, pairs, onId } = filter;
  const onPage = (row: string, pair: Pair) => `${entriesOf(filter, row, pair)} and ${beyond(`${row}.${id}`)}`;
  const also = (candidate: string) => (onId === undefined ? '' : ` and ${onId(candidate)}`);
  const inOrder = (row: string) => `order by ${row}.${id} ${order}`;
  const frequent = `select m0.${id} as id ${mergedPairs(filter, onPage)}${also(`m0.${id}`)}`;
  const cut = `${inOrder('m0')} limit ${most}`;
  if (pairs.length === 1) return `select page.id from (${frequent} ${cut}) page limit $3 offset $4`;

  // "offset 0" keeps a look-up from becoming a join that reads all that have the other pair.
  const ledByRare = pairs.map((pair, index) => {
    const lookUps = pairs
      .filter((_, other) => other !== index)
      .map(
        (other, at) =>
          `cross join lateral (select from ${table} o where ${entriesOf(filter, 'o', other)} and o.${id} = c.id offset 0) o${at}`,
      );
    return `(select c.id from (select m.${id} as id from ${table} m where ${onPage('m', pair)} ${inOrder('m')} limit ${rare}) c
      ${lookUps.join(' ')} where (select leader from lead) = ${index}${also('c.id')})`;
  });
  const isRare = (pair: Pair) =>
    `not exists (select from ${table} m where ${onPage('m', pair)} ${inOrder('m')} offset ${rare} limit 1)`;
  const leader = pairs.map((pair, index) => `when ${isRare(pair)} then ${index}`).join(' ');
  return `with lead as materialized (select case ${leader} end as leader)
    select found.id from (
      ${ledByRare.join(' union all ')}
      union all (select page.id from (${frequent} and (select leader from lead) is null ${cut}) page limit $3::bigint + $4::bigint)
    ) found order by found.id ${order} limit $3 offset $4`;
}

// The conditions on a row of the pairs' table.
function entriesOf({ onRow }: PairFilter, row: string, pair: Pair): string {
  const ofPair = `${row}.account_id = $1 and ${row}.test_mode = $2 and ${row}.key = ${pair.key} and ${row}.value = ${pair.value}`;
  return onRow === undefined ? ofPair : `${ofPair} and ${onRow(row)}`;
}

// All pairs joined by the id, `m0` first. The cursor bounds each of them: bounded only on one, the others are read from the list's beginning.
function mergedPairs({ table, id, pairs }: PairFilter, conditions: (row: string, pair: Pair) => string): string {
  const [first, ...others] = pairs;
  if (first === undefined) throw new Error('a filter by pairs has a pair');
  const joins = others.map((pair, at) => {
    const row = `m${at + 1}`;
    return `join ${table} ${row} on ${conditions(row, pair)} and ${row}.${id} = m0.${id}`;
  });
  return `from ${table} m0 ${joins.join(' ')} where ${conditions('m0', first)}`;
}

type Pair = PairFilter['pairs'][number];

/** The first look of a list by these pairs; one pair needs none. */
export function lookFirst(filter: PairFilter): Pick<ListShape, 'firstLook'> {
  return filter.pairs.length > 1 ? { firstLook: (cut) => newestPairCandidates(filter, cut) } : {};
}

/** The pairs that are joined by name, and those beyond that share one statement, so that the shapes that are kept prepared stay few. */
export function splitPairs<Pair>(pairs: readonly Pair[]): { joined: readonly Pair[]; rest: readonly Pair[] } {
  return { joined: pairs.slice(0, joinedPairs), rest: pairs.slice(joinedPairs) };
}

const joinedPairs = 3;

/** The condition that a candidate has all of any number of pairs, each looked up by its index. */
export function hasAllPairs(
  table: string,
  id: string,
  pairs: readonly (readonly [string, string])[],
  parameter: (value: unknown) => string,
  onRow?: (row: string) => string,
): (candidate: string) => string {
  const keys = parameter(pairs.map(([key]) => key));
  const values = parameter(pairs.map(([, value]) => value));
  return (candidate) =>
    `not exists (select from unnest(${keys}::text[], ${values}::text[]) wanted (key, value) where not exists (
      select from ${table} o where o.account_id = $1 and o.test_mode = $2 and o.key = wanted.key collate "C"
        and o.value = wanted.value collate "C"${onRow === undefined ? '' : ` and ${onRow('o')}`} and o.${id} = ${candidate}))`;
}
