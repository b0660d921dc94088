import { type Db, type Scope, type Tx, unscoped } from '@eligo/postgres';

/** A range of issuer numbers, by the first eight digits of its cards. */
export interface IssuerRange {
  readonly first: number;
  readonly last: number;
  readonly isHealth: boolean;
}

/** How many digits a range is compared by; an issuer number of fewer stands for all that begin with it. */
export const rangeDigits = 8;

const find = unscoped<{ hsa_fsa: boolean }>(
  'issuer_ranges.find',
  'select hsa_fsa from checkout.issuer_ranges where digits @> int4range($1, $2)',
);

/** What the operator's list says of an issuer number; undefined where no range of it holds all its cards. */
export async function findIssuerRange(db: Db, scope: Scope, iin: string): Promise<boolean | undefined> {
  const [first, last] = [Number(iin.padEnd(rangeDigits, '0')), Number(iin.padEnd(rangeDigits, '9'))];
  return (await db.row(find, scope, [first, last + 1]))?.hsa_fsa;
}

const clear = unscoped<never>('issuer_ranges.clear', 'delete from checkout.issuer_ranges');

const insert = unscoped<never>(
  'issuer_ranges.insert',
  `insert into checkout.issuer_ranges (digits, hsa_fsa)
   select int4range(r.first, r.last, '[]'), r.is_health from unnest($1::int[], $2::int[], $3::boolean[]) as r (first, last, is_health)`,
);

/** Replaces the list. */
export async function replaceIssuerRanges(tx: Tx, ranges: readonly IssuerRange[]): Promise<void> {
  await tx.execute(clear, null, []);
  await tx.execute(insert, null, [
    ranges.map(({ first }) => first),
    ranges.map(({ last }) => last),
    ranges.map(({ isHealth }) => isHealth),
  ]);
}
