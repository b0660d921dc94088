import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type Cents, centsFromInt64 } from '@eligo/values';
import type { InvoiceLine } from '../domain/invoice.ts';

/** A new invoice and its lines, in their order. */
export interface LinesOfInvoice {
  readonly invoiceId: string;
  readonly lines: readonly InvoiceLine[];
}

/** Writes the lines of new invoices, which they sum to; a deferred trigger refuses the transaction otherwise. */
export async function insertInvoiceLines(tx: Tx, scope: Scope, invoices: readonly LinesOfInvoice[]): Promise<void> {
  const rows = invoices.flatMap(({ invoiceId, lines }) =>
    lines.map((line, index) => ({ ...line, invoiceId, position: index + 1 })),
  );
  if (rows.length === 0) return;
  const column = <Key extends keyof (typeof rows)[number]>(key: Key) => rows.map((row) => row[key]);
  await tx.execute(insert, scope, [
    column('invoiceId'),
    column('subscriptionItemId'),
    column('priceId'),
    column('productId'),
    column('quantity'),
    column('unitAmountCents'),
    column('subtotalCents'),
    column('discountCents'),
    column('taxCents'),
    column('shippingCents'),
    column('totalCents'),
    column('eligibleCents'),
    column('eligibility'),
    column('rule'),
    column('ruleVersion'),
    column('rationale'),
    column('letterId'),
    column('prorationId'),
    column('position'),
  ]);
}

/** The lines of an invoice, in their order; those of a first invoice are its session's. */
export async function loadInvoiceLines(db: Db, scope: Scope, invoiceId: string): Promise<InvoiceLine[]> {
  return (await db.rows(select, scope, [invoiceId])).map((row) => ({
    subscriptionItemId: row.subscription_item_id,
    priceId: row.price_id,
    productId: row.product_id,
    quantity: Number(row.quantity),
    unitAmountCents: amount(row.unit_amount_cents),
    subtotalCents: amount(row.subtotal_cents),
    discountCents: amount(row.discount_cents),
    taxCents: amount(row.tax_cents),
    shippingCents: amount(row.shipping_cents),
    totalCents: amount(row.total_cents),
    eligibleCents: amount(row.eligible_cents),
    eligibility: row.eligibility,
    rule: row.rule,
    ruleVersion: row.rule_version,
    rationale: row.rationale,
    letterId: row.letter_id,
    prorationId: row.proration_id,
  }));
}

function amount(value: bigint): Cents {
  return centsFromInt64(value);
}

interface LineRow {
  subscription_item_id: string;
  price_id: string;
  product_id: string | null;
  quantity: bigint;
  unit_amount_cents: bigint;
  subtotal_cents: bigint;
  discount_cents: bigint;
  tax_cents: bigint;
  shipping_cents: bigint;
  total_cents: bigint;
  eligible_cents: bigint;
  eligibility: string | null;
  rule: string;
  rule_version: string;
  rationale: string;
  letter_id: string | null;
  proration_id: string | null;
}

const columns = `subscription_item_id, price_id, product_id, quantity, unit_amount_cents, subtotal_cents, discount_cents, tax_cents, shipping_cents,
     total_cents, eligible_cents, eligibility, rule, rule_version, rationale, letter_id, proration_id`;
const select = scoped<LineRow>(
  'invoice_lines.of_invoice',
  `select ${columns} from invoice_lines where account_id = $1 and test_mode = $2 and invoice_id = $3 order by position`,
);
const insert = scoped(
  'invoice_lines.insert',
  `insert into invoice_lines (account_id, test_mode, invoice_id, ${columns}, position)
   select $1, $2, line.*
   from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
     $13::bigint[], $14::bigint[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::int[])
     as line (invoice_id, ${columns}, position)`,
);
