import { type Tx, unscoped } from '@eligo/postgres';

/** A line of a list, checked. Times are ISO 8601; null is no bound. */
export interface StagedCode {
  readonly line: number;
  readonly gtin: string;
  readonly effectiveFrom: string | null;
  readonly effectiveTo: string | null;
  readonly eligibility: string;
  readonly label: string | null;
}

/** What an import made of the list. */
export interface ImportedVersion {
  /** The version that is current now: a new one, or the one before when nothing changed. 0 is an empty list that was never filled. */
  readonly version: number;
  readonly isNew: boolean;
  readonly total: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** When that version takes effect; null for an empty list that was never filled. */
  readonly effectiveAt: Date | null;
}

/** One import at a time: the lock is held until the transaction ends. Also gives the comparison memory to work in. */
export async function beginImport(tx: Tx): Promise<void> {
  await tx.execute(lock, null);
  await tx.execute(giveMemory, null);
  await tx.execute(clear, null);
}

/** Lays codes out to be compared. */
export async function stageCodes(tx: Tx, codes: readonly StagedCode[]): Promise<void> {
  await tx.execute(stage, null, [
    codes.map(({ line }) => line),
    codes.map(({ gtin }) => gtin),
    codes.map(({ effectiveFrom }) => effectiveFrom),
    codes.map(({ effectiveTo }) => effectiveTo),
    codes.map(({ eligibility }) => eligibility),
    codes.map(({ label }) => label),
  ]);
}

/**
 * Makes what was laid out the list's next version: rows that are as they were stay untouched, what changed or went is closed, what is new
 * is added. Takes effect at `effectiveAt`, but neither before now nor before the version before it.
 */
export async function publishStaged(tx: Tx, source: string, effectiveAt: Date | null): Promise<ImportedVersion> {
  const compared = await tx.row(compare, null);
  if (compared === undefined) throw new Error('Comparing a product-code list returned no row');
  const { before, total, added, changed, removed } = compared;
  const isNew = added + changed + removed > 0;
  const version = isNew ? before + 1 : before;
  if (isNew) {
    await tx.execute(close, null, [version]);
    await tx.execute(open, null, [version]);
  }
  await tx.execute(clear, null);
  // The last statement: what was asked while the list was read and compared was answered by the version before.
  const current = isNew
    ? await tx.row(insertVersion, null, [version, source, effectiveAt, total, added, changed, removed])
    : await tx.row(findVersion, null, [version]);
  return { version, isNew, total, added, changed, removed, effectiveAt: current?.effectiveAt ?? null };
}

const lock = unscoped(
  'product_codes.import_lock',
  "select pg_advisory_xact_lock(hashtextextended('catalog.product_codes', 0))",
);
// Two sorts and a hash of two million rows fit; the setting ends with the transaction.
const giveMemory = unscoped('product_codes.import_memory', "select set_config('work_mem', '256MB', true)");
const clear = unscoped('product_codes.clear_staging', 'truncate product_code_staging, product_code_changes');
const stage = unscoped(
  'product_codes.stage',
  `insert into product_code_staging (line, gtin, effective_from, effective_to, hsa_fsa_eligibility, label)
   select line, gtin, coalesce(effective_from, '-infinity'), coalesce(effective_to, 'infinity'), eligibility, label
   from unnest($1::integer[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::text[])
     row (line, gtin, effective_from, effective_to, eligibility, label)`,
);

// Of lines with one code and one beginning the last counts. Millions of rows are sorted and compared once, and only the differences kept.
const compare = unscoped<{ before: number; total: number; added: number; changed: number; removed: number }>(
  'product_codes.compare',
  `with staged as materialized (
     select distinct on (gtin, effective_from) gtin, effective_from, effective_to, hsa_fsa_eligibility, label
     from product_code_staging order by gtin, effective_from, line desc),
   different as (
     insert into product_code_changes (is_new, is_gone, gtin, effective_from, effective_to, hsa_fsa_eligibility, label)
     select c.gtin is null, s.gtin is null, coalesce(s.gtin, c.gtin), coalesce(s.effective_from, c.effective_from),
       s.effective_to, s.hsa_fsa_eligibility, s.label
     from staged s
     full join (select * from product_codes where version_to is null) c on c.gtin = s.gtin and c.effective_from = s.effective_from
     where s.gtin is null or c.gtin is null
       or (s.effective_to, s.hsa_fsa_eligibility, s.label) is distinct from (c.effective_to, c.hsa_fsa_eligibility, c.label)
     returning is_new, is_gone)
   select (select coalesce(max(version), 0) from product_code_versions) as before, (select count(*) from staged)::integer as total,
     (count(*) filter (where is_new))::integer as added, (count(*) filter (where is_gone))::integer as removed,
     (count(*) filter (where not is_new and not is_gone))::integer as changed
   from different`,
);
const insertVersion = unscoped<{ effectiveAt: Date }>(
  'product_codes.insert_version',
  `insert into product_code_versions (version, source, effective_at, imported_at, rows_total, rows_added, rows_changed, rows_removed)
   select $1, $2, greatest(made.at, $3::timestamptz, (select max(effective_at) from product_code_versions)), made.at, $4, $5, $6, $7
   from (select date_trunc('milliseconds', clock_timestamp()) as at) made
   returning effective_at as "effectiveAt"`,
);
const findVersion = unscoped<{ effectiveAt: Date }>(
  'product_codes.find_version',
  'select effective_at as "effectiveAt" from product_code_versions where version = $1',
);
const close = unscoped(
  'product_codes.close',
  `update product_codes c set version_to = $1 from product_code_changes d
   where not d.is_new and c.gtin = d.gtin and c.effective_from = d.effective_from and c.version_to is null`,
);
const open = unscoped(
  'product_codes.open',
  `insert into product_codes (gtin, effective_from, version_from, effective_to, hsa_fsa_eligibility, label)
   select gtin, effective_from, $1, effective_to, hsa_fsa_eligibility, label from product_code_changes where not is_gone`,
);
