import type { ListShape } from './page.ts';
import type { Cut } from './page-cut.ts';
import { type Sieve, sievedIds } from './sieved-page.ts';

/** A filter by metadata pairs on their own table; every text is SQL, with parameters for the values. */
export interface PairFilter {
  readonly table: string;
  readonly id: string;
  /** At least one. */
  readonly pairs: readonly { readonly key: string; readonly value: string }[];
  /** A further condition on a row of the pairs' table, by the name that the row has. */
  readonly onRow?: (row: string) => string;
  /** A further condition on a candidate, by its id. */
  readonly sieve?: Pick<Sieve, 'on' | 'inUseText'>;
  /** Pairs beyond those, of which a candidate must have all. */
  readonly rest?: PairArrays;
  readonly own?: OwnFilter;
  /** The function that finds by all of it at once, and what it is asked besides the pairs. */
  readonly finder: { readonly name: string; readonly besides: string };
}

/** A filter on the records' own table, where an index has it before the list's order. */
export interface OwnFilter extends Source {
  /** Whether it usually matches fewer records than a pair does. */
  readonly isNarrow: boolean;
}

/**
 * How the ids of a page of records that have all the pairs are found. One pair's index is in the list's order. Of several, the newest entries
 * of each are intersected, first a few, which fills most pages, then many; records that so few of them are cannot be many among all, and the
 * inverted index finds them (migrations/0006, 0026). A pair that few records have leads, and the others are looked up for each of those. With a
 * filter on the records' own table, the newest records that have the pairs are checked for it, and the newest that match it for the pairs.
 */
export function byPairs(filter: PairFilter): Pick<ListShape, 'where' | 'firstLook' | 'sieve'> {
  const { pairs, own } = filter;
  if (own === undefined && pairs.length === 1) return byOnePair(filter);
  return {
    firstLook: (cut) => (own?.isNarrow ? amongOwn(filter, own, cut, firstLook) : amongNewest(filter, cut, firstLook)),
    where: (cut) => amongNewestOrAll(filter, cut),
  };
}

// How many entries of each pair the first look reads: enough for a page of ten by pairs that one record in thirteen has.
const firstLook = 150;

// What the second look reads: some two milliseconds, and enough for a page of ten by pairs that one in five hundred has.
const secondLook = 5_000;

// How many records the second look checks for the other filter: some three milliseconds. A page of ten is filled where one in two hundred matches
// both. Where fewer of the newest do, few ids are left to sort.
const secondChecked = 2_000;

// A pair that no more records than this have leads by itself. Finding that out costs a step over as many index entries for each pair, some
// twenty microseconds.
const rare = 100;

/** Where ids can be walked in the list's order, or looked up. */
interface Source {
  readonly table: string;
  readonly on: (row: string) => string;
}

function sourcesOf(filter: PairFilter): readonly Source[] {
  const ofPairs = pairSources(filter);
  if (filter.own === undefined) return ofPairs;
  const own = ownSource(filter.own);
  return filter.own.isNarrow ? [own, ...ofPairs] : [...ofPairs, own];
}

function pairSources(filter: PairFilter): readonly Source[] {
  return filter.pairs.map((pair) => ({ table: filter.table, on: (row: string) => entriesOf(filter, row, pair) }));
}

function ownSource({ table, on }: OwnFilter): Source {
  return { table, on: (row) => `${row}.account_id = $1 and ${row}.test_mode = $2 and ${on(row)}` };
}

/** The first so many ids of a source, in the list's order. */
function newestOf(filter: PairFilter, source: Source, cut: Cut, most: number, and = ''): string {
  return `(${newestUntil(filter, source, cut, `limit ${most}`, and)})`;
}

function newestUntil({ id }: PairFilter, { table, on }: Source, { beyond, order }: Cut, end: string, and = ''): string {
  return `select m.${id} as id from ${table} m where ${on('m')} and ${beyond(`m.${id}`)}${and} order by m.${id} ${order} ${end}`;
}

/**
 * Looks at so many of the newest entries of each pair. A record that is found among them comes before any that is not. An intersection,
 * because it costs the same whatever the planner expects of the values.
 */
function amongNewest(filter: PairFilter, cut: Cut, entries: number, unless = 'false'): string {
  const { own } = filter;
  const newest = pairSources(filter).map((source) => newestOf(filter, source, cut, entries, ` and not ${unless}`));
  const conditions = [
    ...conditionsOn(filter, 'page.id'),
    ...(own === undefined ? [] : [isIn(filter, ownSource(own), 'page.id')]),
  ];
  return `select page.id from (${newest.join(' intersect ')}) page${conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`}
    order by page.id ${cut.order} ${cutOut}`;
}

/** Looks at so many of the newest records that match the filter on their own table, and checks each for the pairs. */
function amongOwn(filter: PairFilter, own: OwnFilter, cut: Cut, entries: number, unless = 'false'): string {
  const conditions = [
    ...pairSources(filter).map((source) => isIn(filter, source, 'page.id')),
    ...conditionsOn(filter, 'page.id'),
  ];
  return `select page.id from ${newestOf(filter, ownSource(own), cut, entries, ` and not ${unless}`)} page
    where ${conditions.join(' and ')} order by page.id ${cut.order} ${cutOut}`;
}

// Selected, for the reason that the values of pairs are (entriesOf).
const cutOut = 'limit (select $3::bigint) offset (select $4::bigint)';

// "offset 0" keeps a look-up from becoming a join that reads all that have the other pair.
function isIn({ id }: PairFilter, { table, on }: Source, candidate: string): string {
  return `exists (select from ${table} o where ${on('o')} and o.${id} = ${candidate} offset 0)`;
}

// The function is called with a value of the row that says whether it is to be: the planner may not call it first.
function amongNewestOrAll(filter: PairFilter, cut: Cut): string {
  const { pairs, finder, rest, own } = filter;
  const { order, direction, mostSkipped } = cut;
  const sources = sourcesOf(filter);
  const leader = sources.map(
    (source, index) =>
      `when not exists (select from ${newestOf(filter, source, cut, rare + 1)} e offset ${rare}) then ${index}`,
  );
  const named = `jsonb_build_object(${pairs.map(({ key, value }) => `${key}::text, ${value}::text`).join(', ')})`;
  const all = rest === undefined ? named : `${named} || jsonb_object(${rest.keys}::text[], ${rest.values}::text[])`;
  // Four entries for each record that an offset skips.
  const skipped = 4 * mostSkipped;
  const isChecked = own !== undefined && pairs.length === 1;
  const looks = looksOf(own).map((look, index) => {
    const isLed = 'exists (select from lead where leader is not null)';
    const unless = index === 0 ? isLed : `(${isLed} or (select count(*) from look0) >= $3::bigint)`;
    return own !== undefined && look === 'own'
      ? amongOwn(filter, own, cut, secondChecked + skipped, unless)
      : amongNewest(filter, cut, (isChecked ? secondChecked : secondLook) + skipped, unless);
  });
  const isEnough = (index: number) => `(select count(*) from look${index}) >= $3::bigint`;
  const chosen = looks.map((_, index) => `when ${isEnough(index)} then ${index}`);
  return `with lead as materialized (select case ${leader.join(' ')} end as leader),
      ${looks.map((look, index) => `look${index} as materialized (${look})`).join(', ')},
      judged as materialized (select leader, case ${chosen.join(' ')} end as look from lead)
    (select led.id from (${sources.map((_, index) => ledByRare(filter, cut, index)).join(' union all ')}) led
      order by led.id ${order} ${cutOut})
    ${looks.map((_, index) => `union all select look${index}.id from look${index} where (select leader is null and look = ${index} from judged)`).join(' ')}
    union all
    select found.id from (select $3::bigint as most where (select leader is null and look is null from judged) offset 0) asked
      cross join lateral ${finder.name}($1, $2, ${finder.besides}, ${all}, '${direction}', $5, asked.most, $4::bigint) found (id)`;
}

/** The looks at the newest, the filter that matches fewer first. */
function looksOf(own: OwnFilter | undefined): readonly ('pairs' | 'own')[] {
  if (own === undefined) return ['pairs'];
  return own.isNarrow ? ['own', 'pairs'] : ['pairs', 'own'];
}

function ledByRare(filter: PairFilter, cut: Cut, leader: number): string {
  const sources = sourcesOf(filter);
  const source = sources[leader];
  if (source === undefined) throw new Error(`No source ${leader}`);
  const lookUps = sources
    .filter((_, index) => index !== leader)
    .map(
      ({ table, on }, at) =>
        `cross join lateral (select from ${table} o where ${on('o')} and o.${filter.id} = c.id offset 0) o${at}`,
    );
  const conditions = [`(select leader from lead) = ${leader}`, ...conditionsOn(filter, 'c.id')];
  return `(select c.id from ${newestOf(filter, source, cut, rare)} c ${lookUps.join(' ')} where ${conditions.join(' and ')})`;
}

function byOnePair(filter: PairFilter): Pick<ListShape, 'where' | 'sieve'> {
  const [source] = pairSources(filter);
  if (source === undefined) throw new Error('A filter by pairs needs at least one pair');
  if (filter.sieve === undefined) {
    return { where: (cut) => `select page.id from ${newestOf(filter, source, cut, cut.most)} page limit $3 offset $4` };
  }
  const sieve = { ...filter.sieve, ids: (cut: Cut, end: string) => newestUntil(filter, source, cut, end) };
  return { where: (cut) => sievedIds(sieve, cut), sieve };
}

// What a candidate must fulfill besides what is looked at by name: it has all of the other pairs, too.
function conditionsOn({ table, id, rest, onRow, sieve }: PairFilter, candidate: string): readonly string[] {
  return [
    ...(rest === undefined ? [] : [hasAllPairs(table, id, rest, onRow)(candidate)]),
    ...(sieve === undefined ? [] : [sieve.on(candidate)]),
  ];
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
