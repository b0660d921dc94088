import { type Db, type Scope, scoped } from '@eligo/postgres';
import { type Cents, centsFromInt64 } from '@eligo/values';

/** What a proration is of: a part of a period of a product, and of what the whole period is. */
export interface ProratedPart {
  readonly productId: string | null;
  readonly isShare: boolean;
  readonly periodStart: Date;
  readonly periodEnd: Date;
  readonly wholeCents: Cents;
  readonly amountCents: Cents;
  /** The part of a credit that is for charges that no invoice carried when it was made. */
  readonly unpaidCents: Cents;
}

/** The number of an invoice and its time zone; null for invoices of releases without them. */
export async function findIssuedFacts(
  db: Db,
  scope: Scope,
  id: string,
): Promise<{ number: bigint | null; timeZone: string | null }> {
  const row = await db.row(selectIssuedFacts, scope, [id]);
  return { number: row?.number ?? null, timeZone: row?.time_zone ?? null };
}

/** What the prorations are of that an invoice carries as lines or credits, by their ids. */
export async function loadProratedParts(
  db: Db,
  scope: Scope,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ProratedPart>> {
  if (ids.length === 0) return new Map();
  const rows = await db.rows(selectParts, scope, [ids]);
  return new Map(
    rows.map((row) => [
      row.id,
      {
        ...{ productId: row.product_id, periodStart: row.period_start, periodEnd: row.period_end },
        wholeCents: centsFromInt64(row.whole_cents),
        amountCents: centsFromInt64(row.amount_cents),
        unpaidCents: centsFromInt64(row.unpaid_cents),
        isShare: row.is_share,
      },
    ]),
  );
}

const selectIssuedFacts = scoped<{ number: bigint | null; time_zone: string | null }>(
  'invoices.number',
  'select number, time_zone from invoices where account_id = $1 and test_mode = $2 and id = $3',
);
interface PartRow {
  id: string;
  product_id: string | null;
  period_start: Date;
  period_end: Date;
  whole_cents: bigint;
  amount_cents: bigint;
  unpaid_cents: bigint;
  is_share: boolean;
}

const selectParts = scoped<PartRow>(
  'prorations.parts',
  `select id, product_id, period_start, period_end, whole_cents, amount_cents, unpaid_cents, is_share from prorations
   where account_id = $1 and test_mode = $2 and id = any($3::text[])`,
);
