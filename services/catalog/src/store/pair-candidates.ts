import type { Cut, ListShape } from './page.ts';

/** A filter by metadata pairs on their own table; every text is SQL, with parameters for the values. */
export interface PairFilter {
  readonly table: string;
  readonly id: string;
  /** At least one. */
  readonly pairs: readonly { readonly key: string; readonly value: string }[];
  /** A further condition on a row of the pairs' table, by the name that the row has. */
  readonly onRow?: (row: string) => string;
  /** Pairs beyond those, of which a candidate must have all. */
  readonly rest?: PairArrays;
  /** A further condition on a candidate, by the expression of its id. */
  readonly onId?: (id: string) => string;
  /** The function that finds by all pairs at once, and what it is asked besides. */
  readonly finder: { readonly name: string; readonly besides: string };
}

/**
 * How the ids of a page of records that have all the pairs are found. One pair's index is in the list's order. Of several, the newest entries
 * of each are intersected, first a few, which fills most pages, then many; records that so few of them are cannot be many among all, and the
 * inverted index finds them (migrations/0006). A pair that few records have leads, and the others are looked up for each of those.
 */
export function byPairs(filter: PairFilter): Pick<ListShape, 'where' | 'firstLook'> {
  if (filter.pairs.length === 1) return { where: (cut) => byOnePair(filter, cut) };
  return { firstLook: (cut) => amongNewest(filter, cut, firstLook), where: (cut) => amongNewestOrAll(filter, cut) };
}

// How many entries of each pair the first look reads: enough for a page of ten by pairs that one record in thirteen has.
const firstLook = 150;

// What the second look reads: some two milliseconds, and enough for a page of ten by pairs that one in five hundred has.
const secondLook = 5_000;

// A pair that no more records than this have leads by itself. Finding that out costs a step over as many index entries for each pair, some
// twenty microseconds.
const rare = 100;

/**
 * Looks at so many of the newest entries of each pair. A record that is found among them comes before any that is not. An intersection,
 * because it costs the same whatever the planner expects of the values.
 */
function amongNewest(filter: PairFilter, { beyond, order }: Cut, entries: number, unless = 'false'): string {
  const { table, id, pairs } = filter;
  const newest = pairs.map(
    (pair) =>
      `(select m.${id} as id from ${table} m where ${entriesOf(filter, 'm', pair)} and ${beyond(`m.${id}`)} and not ${unless}
        order by m.${id} ${order} limit ${entries})`,
  );
  const condition = conditionOn(filter, 'page.id');
  return `select page.id from (${newest.join(' intersect ')}) page${condition === undefined ? '' : ` where ${condition}`}
    order by page.id ${order} ${cutOut}`;
}

// Selected, for the reason that the values of pairs are (entriesOf).
const cutOut = 'limit (select $3::bigint) offset (select $4::bigint)';

// The function is called with a value of the row that says whether it is to be: the planner may not call it first.
function amongNewestOrAll(filter: PairFilter, cut: Cut): string {
  const { table, id, pairs, finder, rest } = filter;
  const { beyond, order, direction, mostSkipped } = cut;
  const leader = pairs.map(
    (
      pair,
      index,
    ) => `when not exists (select from ${table} m where ${entriesOf(filter, 'm', pair)} and ${beyond(`m.${id}`)}
      order by m.${id} ${order} offset ${rare} limit 1) then ${index}`,
  );
  const named = `jsonb_build_object(${pairs.map(({ key, value }) => `${key}::text, ${value}::text`).join(', ')})`;
  const all = rest === undefined ? named : `${named} || jsonb_object(${rest.keys}::text[], ${rest.values}::text[])`;
  // Four entries for each record that an offset skips.
  const newest = amongNewest(
    filter,
    cut,
    secondLook + 4 * mostSkipped,
    'exists (select from lead where leader is not null)',
  );
  return `with lead as materialized (select case ${leader.join(' ')} end as leader),
      newest as materialized (${newest}),
      judged as materialized (
        select leader is null and (select count(*) from newest) >= $3::bigint as is_enough, leader is not null as is_led from lead)
    (select led.id from (${pairs.map((_, index) => ledByRare(filter, cut, index)).join(' union all ')}) led
      order by led.id ${order} ${cutOut})
    union all
    select newest.id from newest where (select is_enough from judged)
    union all
    select found.id from (select $3::bigint as most where (select not is_enough and not is_led from judged) offset 0) asked
      cross join lateral ${finder.name}($1, $2, ${finder.besides}, ${all}, '${direction}', $5, asked.most, $4::bigint) found (id)`;
}

// "offset 0" keeps a look-up from becoming a join that reads all that have the other pair.
function ledByRare(filter: PairFilter, { beyond, order }: Cut, leader: number): string {
  const { table, id, pairs } = filter;
  const pair = pairs[leader];
  if (pair === undefined) throw new Error(`No pair ${leader}`);
  const lookUps = pairs
    .filter((other) => other !== pair)
    .map(
      (other, at) =>
        `cross join lateral (select from ${table} o where ${entriesOf(filter, 'o', other)} and o.${id} = c.id offset 0) o${at}`,
    );
  const condition = conditionOn(filter, 'c.id');
  return `(select c.id from (select m.${id} as id from ${table} m where ${entriesOf(filter, 'm', pair)} and ${beyond(`m.${id}`)}
      order by m.${id} ${order} limit ${rare}) c
    ${lookUps.join(' ')} where (select leader from lead) = ${leader}${condition === undefined ? '' : ` and ${condition}`})`;
}

function byOnePair(filter: PairFilter, { beyond, order, most }: Cut): string {
  const { table, id, pairs } = filter;
  const [pair] = pairs;
  if (pair === undefined) throw new Error('A filter by pairs needs at least one pair');
  const condition = conditionOn(filter, `m.${id}`);
  const also = condition === undefined ? '' : ` and ${condition}`;
  return `select page.id from (select m.${id} as id from ${table} m where ${entriesOf(filter, 'm', pair)} and ${beyond(`m.${id}`)}${also}
    order by m.${id} ${order} limit ${most}) page limit $3 offset $4`;
}

// Whatever a candidate must fulfil beside the pairs that are looked at.
function conditionOn(filter: PairFilter, candidate: string): string | undefined {
  const { table, id, rest, onRow, onId } = filter;
  const conditions = [
    ...(rest === undefined ? [] : [hasAllPairs(table, id, rest, onRow)(candidate)]),
    ...(onId === undefined ? [] : [onId(candidate)]),
  ];
  return conditions.length === 0 ? undefined : conditions.join(' and ');
}

// The conditions on a row of the pairs' table. Selected, a value tells the planner nothing: by what it knows of a rare one it would plan the
// statement anew each time, which takes three times as long as running it.
function entriesOf({ onRow }: PairFilter, row: string, { key, value }: PairFilter['pairs'][number]): string {
  const ofPair = `${row}.account_id = $1 and ${row}.test_mode = $2
    and ${row}.key = (select ${key}::text) and ${row}.value = (select ${value}::text)`;
  return onRow === undefined ? ofPair : `${ofPair} and ${onRow(row)}`;
}

/** The pairs that are looked at by name, and those beyond that share one statement, so that the shapes that are kept prepared stay few. */
export function splitPairs<Pair>(pairs: readonly Pair[]): { joined: readonly Pair[]; rest: readonly Pair[] } {
  return { joined: pairs.slice(0, joinedPairs), rest: pairs.slice(joinedPairs) };
}

const joinedPairs = 3;

/** Parameters for any number of pairs: their keys, and their values. */
export interface PairArrays {
  readonly keys: string;
  readonly values: string;
}

export function pairArrays(
  pairs: readonly (readonly [string, string])[],
  parameter: (value: unknown) => string,
): PairArrays {
  return { keys: parameter(pairs.map(([key]) => key)), values: parameter(pairs.map(([, value]) => value)) };
}

/** The condition that a candidate has all of these pairs, each looked up by its index. */
export function hasAllPairs(
  table: string,
  id: string,
  { keys, values }: PairArrays,
  onRow?: (row: string) => string,
): (candidate: string) => string {
  return (candidate) =>
    `not exists (select from unnest(${keys}::text[], ${values}::text[]) wanted (key, value) where not exists (
      select from ${table} o where o.account_id = $1 and o.test_mode = $2 and o.key = wanted.key collate "C"
        and o.value = wanted.value collate "C"${onRow === undefined ? '' : ` and ${onRow('o')}`} and o.${id} = ${candidate}))`;
}
