import { type Db, type Page, readPage, type Scope, scoped, type Tx } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import type { Invoice } from '../domain/subscription.ts';

/** The invoice, or undefined. */
export async function findInvoice(db: Db, scope: Scope, id: string): Promise<Invoice | undefined> {
  const row = await db.row(selectOne, scope, [id]);
  return row && fromRow(row);
}

/** Those of the ids that are invoices, in no order. */
export async function findInvoices(db: Db, scope: Scope, ids: readonly string[]): Promise<Invoice[]> {
  return (await db.rows(selectMany, scope, [ids])).map(fromRow);
}

/** A page, newest first. No ids means all. */
export async function listInvoices(
  db: Db,
  scope: Scope,
  page: Page,
  of: { customerId?: string | undefined; subscriptionId?: string | undefined; ids: readonly string[] },
): Promise<{ invoices: Invoice[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<InvoiceRow>(
    db,
    scope,
    {
      table: 'invoices',
      id: 'id',
      columns,
      filter: (query) => {
        if (of.customerId !== undefined) query.where('customer_id', of.customerId);
        if (of.subscriptionId !== undefined) query.where('subscription_id', of.subscriptionId);
        if (of.ids.length > 0) query.whereIn('id', [...of.ids]);
      },
    },
    page,
  );
  return { invoices: rows.map(fromRow), hasMore };
}

/** Writes a new invoice; the unique index refuses a second one for a period. */
export async function insertInvoice(tx: Tx, scope: Scope, invoice: Invoice): Promise<void> {
  await tx.execute(insert, scope, [
    invoice.id,
    invoice.subscriptionId,
    invoice.customerId,
    invoice.checkoutSessionId,
    invoice.status,
    invoice.totalCents,
    invoice.amountPaidCents,
    invoice.paymentIntentId,
    invoice.chargeId,
    invoice.periodStart,
    invoice.periodEnd,
    invoice.paidAt,
    invoice.metadata,
    invoice.createdAt,
  ]);
}

interface InvoiceRow {
  id: string;
  subscription_id: string | null;
  customer_id: string;
  checkout_session_id: string | null;
  status: Invoice['status'];
  total_cents: bigint;
  amount_paid_cents: bigint;
  payment_intent_id: string | null;
  charge_id: string | null;
  backup_charge_status: string | null;
  period_start: Date;
  period_end: Date;
  paid_at: Date | null;
  metadata: Record<string, string>;
  created_at: Date;
}

function fromRow(row: InvoiceRow): Invoice {
  return {
    id: row.id,
    subscriptionId: row.subscription_id,
    customerId: row.customer_id,
    checkoutSessionId: row.checkout_session_id,
    status: row.status,
    totalCents: centsFromInt64(row.total_cents),
    amountPaidCents: centsFromInt64(row.amount_paid_cents),
    paymentIntentId: row.payment_intent_id,
    chargeId: row.charge_id,
    backupChargeStatus: row.backup_charge_status,
    periodStart: row.period_start,
    periodEnd: row.period_end,
    paidAt: row.paid_at,
    metadata: row.metadata,
    createdAt: row.created_at,
  };
}

const columns = [
  'id',
  'subscription_id',
  'customer_id',
  'checkout_session_id',
  'status',
  'total_cents',
  'amount_paid_cents',
  'payment_intent_id',
  'charge_id',
  'backup_charge_status',
  'period_start',
  'period_end',
  'paid_at',
  'metadata',
  'created_at',
];
const selectOne = scoped<InvoiceRow>(
  'invoices.find',
  `select ${columns.join(', ')} from invoices where account_id = $1 and test_mode = $2 and id = $3`,
);
const selectMany = scoped<InvoiceRow>(
  'invoices.find_many',
  `select ${columns.join(', ')} from invoices where account_id = $1 and test_mode = $2 and id = any($3::text[])`,
);
const insert = scoped(
  'invoices.insert',
  `insert into invoices (account_id, test_mode, id, subscription_id, customer_id, checkout_session_id, status, collection_method,
     total_cents, amount_paid_cents, payment_intent_id, charge_id, period_start, period_end, paid_at, metadata, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, 'charge_automatically', $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
);
