import { type Tx, unscoped } from '@eligo/postgres';

/** A line of a list, checked. Times are ISO 8601 or the words `-infinity` and `infinity`. */
export interface StagedCode {
  readonly line: number;
  readonly gtin: string;
  readonly effectiveFrom: string;
  readonly effectiveTo: string;
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
  const counted = await tx.row(compare, null);
  if (counted === undefined) throw new Error('the comparison of a product-code list returned nothing');
  const { version, total, added, changed, removed } = counted;
  if (added + changed + removed === 0) {
    await tx.execute(clear, null);
    return { version, isNew: false, total, added, changed, removed };
  }
  const next = version + 1;
  await tx.execute(insertVersion, null, [next, source, effectiveAt, total, added, changed, removed]);
  await tx.execute(closeGone, null, [next]);
  await tx.execute(addNew, null, [next]);
  await tx.execute(clear, null);
  return { version: next, isNew: true, total, added, changed, removed };
}

const lock = unscoped(
  'product_codes.import_lock',
  "select pg_advisory_xact_lock(hashtextextended('catalog.product_codes', 0))",
);
// Two sorts and a hash of two million rows fit; the setting ends with the transaction.
const giveMemory = unscoped('product_codes.import_memory', "select set_config('work_mem', '256MB', true)");
const clear = unscoped('product_codes.clear_staging', 'truncate product_code_staging');
const stage = unscoped(
  'product_codes.stage',
  `insert into product_code_staging (line, gtin, effective_from, effective_to, hsa_fsa_eligibility, label)
   select * from unnest($1::integer[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::text[])`,
);

// Of lines with one code and one beginning the last counts.
const staged = `select distinct on (gtin, effective_from) gtin, effective_from, effective_to, hsa_fsa_eligibility, label
  from product_code_staging order by gtin, effective_from, line desc`;
const differs = `(s.effective_to, s.hsa_fsa_eligibility, s.label) is distinct from (c.effective_to, c.hsa_fsa_eligibility, c.label)`;

const compare = unscoped<{ version: number; total: number; added: number; changed: number; removed: number }>(
  'product_codes.compare',
  `select coalesce((select max(version) from product_code_versions), 0) as version,
     count(s.gtin)::integer as total,
     (count(*) filter (where c.gtin is null))::integer as added,
     (count(*) filter (where s.gtin is not null and c.gtin is not null and ${differs}))::integer as changed,
     (count(*) filter (where s.gtin is null))::integer as removed
   from (${staged}) s
   full join (select * from product_codes where version_to is null) c on c.gtin = s.gtin and c.effective_from = s.effective_from`,
);
const insertVersion = unscoped(
  'product_codes.insert_version',
  `insert into product_code_versions (version, source, effective_at, imported_at, rows_total, rows_added, rows_changed, rows_removed)
   values ($1, $2, greatest(now()::timestamptz(3), $3::timestamptz(3), (select max(effective_at) from product_code_versions)),
     now(), $4, $5, $6, $7)`,
);
const closeGone = unscoped(
  'product_codes.close_gone',
  `update product_codes c set version_to = $1 where c.version_to is null and not exists (
     select from (${staged}) s where s.gtin = c.gtin and s.effective_from = c.effective_from and not ${differs})`,
);
const addNew = unscoped(
  'product_codes.add_new',
  `insert into product_codes (gtin, effective_from, version_from, effective_to, hsa_fsa_eligibility, label)
   select s.gtin, s.effective_from, $1, s.effective_to, s.hsa_fsa_eligibility, s.label from (${staged}) s
   where not exists (select from product_codes c where c.gtin = s.gtin and c.effective_from = s.effective_from and c.version_to is null)`,
);
