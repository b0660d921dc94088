import type { Cut } from './page.ts';

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

// A pair that no more records than this have leads by itself; finding that out costs an index scan of as many entries.
const rare = 200;

/**
 * The ids of a page of records that have all the pairs. A pair that few records have leads, and the others are looked up for each of those;
 * where all are frequent, their index scans, which are in the list's order, are merged until the page is full. A plan that chose one way for
 * both would read a million entries in one of the cases.
 */
export function pairCandidates({ table, id, pairs, onRow, onId }: PairFilter, { beyond, order, most }: Cut): string {
  const conditionsOf = (row: string, pair: PairFilter['pairs'][number]) =>
    `${row}.account_id = $1 and ${row}.test_mode = $2 and ${row}.key = ${pair.key} and ${row}.value = ${pair.value}` +
    (onRow === undefined ? '' : ` and ${onRow(row)}`);
  const also = (candidate: string) => (onId === undefined ? '' : ` and ${onId(candidate)}`);

  const merged = pairs.map((pair, index) => {
    const row = `m${index}`;
    return index === 0
      ? `${table} m0`
      : `join ${table} ${row} on ${conditionsOf(row, pair)} and ${row}.${id} = m0.${id} and ${beyond(`${row}.${id}`)}`;
  });
  const [first] = pairs;
  if (first === undefined) throw new Error('a filter by pairs has a pair');
  const frequent = `select m0.${id} as id from ${merged.join(' ')} where ${conditionsOf('m0', first)} and ${beyond(`m0.${id}`)}${also(`m0.${id}`)}`;
  const inOrder = `order by m0.${id} ${order} limit ${most}`;
  if (pairs.length === 1) return `select page.id from (${frequent} ${inOrder}) page limit $3 offset $4`;

  const leads = pairs.map(
    (pair, index) =>
      `c${index} as materialized (select m.${id} as id from ${table} m where ${conditionsOf('m', pair)} and ${beyond(`m.${id}`)}
        order by m.${id} ${order} limit ${rare + 1})`,
  );
  const isRare = (index: number) => `(select count(*) from c${index}) <= ${rare}`;
  const isFrequent = (index: number) => `(select count(*) from c${index}) > ${rare}`;
  const ledByRare = pairs.map((_, index) => {
    const others = pairs.filter((_pair, other) => other !== index);
    const gates = [...pairs.slice(0, index).map((_pair, earlier) => isFrequent(earlier)), isRare(index)];
    const probes = others.map(
      (pair) => `exists (select from ${table} o where ${conditionsOf('o', pair)} and o.${id} = c${index}.id)`,
    );
    return `select c${index}.id from c${index} where ${[...gates, ...probes].join(' and ')}${also(`c${index}.id`)}`;
  });
  const allFrequent = pairs.map((_, index) => isFrequent(index)).join(' and ');
  return `with ${leads.join(', ')}
    select found.id from (
      ${ledByRare.join(' union all ')}
      union all (select page.id from (${frequent} and ${allFrequent} ${inOrder}) page limit $3::bigint + $4::bigint)
    ) found order by found.id ${order} limit $3 offset $4`;
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
