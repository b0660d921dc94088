import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import type { ProductCodeEntry } from '../domain/eligibility.ts';
import type { EligibilityClass } from '../domain/eligibility-class.ts';
import type { FoodPolicy } from '../domain/food-policy.ts';

/** What the list says of these GTIN-14s, as of the version and the day that were in force at `at`. */
export async function findProductCodes(
  db: Db,
  scope: Scope,
  codes: readonly string[],
  at: Date,
): Promise<ReadonlyMap<string, ProductCodeEntry>> {
  const entries = new Map<string, ProductCodeEntry>();
  // Of entries whose times overlap, the one that began last.
  for (const row of await db.rows(findCodes, scope, [codes, at])) entries.set(row.gtin, row);
  return entries;
}

/** The food policy that is in force for the account: its own if it has one, else the default. */
export async function findFoodPolicy(db: Db, scope: Scope, at: Date): Promise<FoodPolicy | undefined> {
  return db.row(findPolicy, scope, [at]);
}

/** Adds the account's next policy version, in force from `effectiveAt` and never before now, and returns its number. */
export async function insertFoodPolicy(
  tx: Tx,
  scope: Scope,
  thresholds: FoodPolicy['thresholds'],
  effectiveAt: Date,
): Promise<number> {
  const row = await tx.row(insertPolicy, scope, [effectiveAt, thresholds]);
  if (row === undefined) throw new Error('Inserting a food policy returned no row');
  return row.version;
}

// The codes stand behind a select, so that one plan is kept for all of them (ADR 3).
const findCodes = unscoped<{ gtin: string; eligibility: EligibilityClass; version: number; label: string | null }>(
  'product_codes.find',
  `with list as materialized (
     select version from product_code_versions where effective_at <= $2 order by effective_at desc, version desc limit 1)
   select c.gtin, c.hsa_fsa_eligibility as eligibility, list.version, c.label
   from list join product_codes c on c.gtin = any((select $1::text[])::text[]) and c.effective_from <= $2 and c.effective_to > $2
     and c.version_from <= list.version and (c.version_to is null or c.version_to > list.version)
   order by c.gtin, c.effective_from`,
);

const policyOf = (owner: string, account: string) =>
  `(select '${owner}' as owner, version, thresholds from food_policies
    where account_id = ${account} and test_mode = $2 and effective_at <= $3 order by effective_at desc, version desc limit 1)`;
const findPolicy = scoped<FoodPolicy>(
  'food_policies.find',
  `select owner, version, thresholds from (${policyOf('account', '$1')} union all ${policyOf('default', "''")}) found
   order by owner limit 1`,
);
const insertPolicy = scoped<{ version: number }>(
  'food_policies.insert',
  `insert into food_policies (account_id, test_mode, version, effective_at, thresholds, created_at)
   select $1, $2, coalesce((select max(version) from food_policies where account_id = $1 and test_mode = $2), 0) + 1,
     greatest(made.at, $3::timestamptz), $4::jsonb, made.at
   from (select date_trunc('milliseconds', clock_timestamp()) as at) made
   returning version`,
);
