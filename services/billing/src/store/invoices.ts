import { type Db, maxGroupSize, type Page, readPage, type Scope, scoped, type Tx } from '@eligo/postgres';
import { centsFromInt64, defaultTimeZone } from '@eligo/values';
import type { Invoice } from '../domain/invoice.ts';
import { invoiceStates } from '../domain/invoice-states.ts';

/** The invoice, or undefined. */
export async function findInvoice(db: Db, scope: Scope, id: string): Promise<Invoice | undefined> {
  const row = await db.row(selectOne, scope, [id]);
  return row && fromRow(row);
}

/** The same, locked until the transaction ends. */
export async function lockInvoice(tx: Tx, scope: Scope, id: string): Promise<Invoice | undefined> {
  const row = await tx.row(selectForUpdate, scope, [id]);
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

/** Writes a new invoice, as `insertInvoices` does. */
export function insertInvoice(tx: Tx, scope: Scope, invoice: Invoice): Promise<void> {
  return insertInvoices(tx, scope, [invoice]);
}

/**
 * Writes new invoices of one account and mode, at most 16, under its next numbers, which ascend in the order of the list; the unique index refuses a second
 * one for a period. One statement takes all the numbers. The next transaction of the account gets its own once this one has ended, so this comes late in one.
 */
export async function insertInvoices(tx: Tx, scope: Scope, invoices: readonly Invoice[]): Promise<void> {
  const written = await tx.execute(insert, scope, [
    JSON.stringify(invoices.map(insertedRow)),
    invoices.length,
    defaultTimeZone,
  ]);
  if (written !== invoices.length) throw new Error(`Only ${written} of ${invoices.length} invoices were written`);
}

/** Of invoices that one charge has paid in full. */
export interface PaidInvoice {
  readonly before: Invoice;
  readonly after: Invoice;
}

/** The invoices, at most 16, locked until the transaction ends, in no order. One that another transaction holds is missing. */
export async function lockInvoices(tx: Tx, scope: Scope, ids: readonly string[]): Promise<Invoice[]> {
  return (await tx.rows(selectSeveralForUpdate, scope, [ids])).map(fromRow);
}

/** Writes the payments of invoices, at most 16, which the caller has locked. */
export async function savePaidInvoices(tx: Tx, scope: Scope, paid: readonly PaidInvoice[]): Promise<void> {
  const rows = paid.map(({ before, after }) => {
    invoiceStates.assertMove(before.status, after.status);
    return {
      id: before.id,
      version: String(before.version),
      status: after.status,
      amount_paid_cents: after.amountPaidCents,
      payment_intent_id: after.paymentIntentId,
      charge_id: after.chargeId,
      paid_at: after.paidAt,
    };
  });
  const written = await tx.execute(updatePaid, scope, [JSON.stringify(rows)]);
  if (written !== paid.length) throw new Error('An invoice changed after it was read');
}

/** Writes what changes of an invoice; throws for a move that is not in the state table, and when it was changed since it was read. */
export async function saveInvoice(tx: Tx, scope: Scope, before: Invoice, after: Invoice): Promise<Invoice> {
  if (before.status !== after.status) invoiceStates.assertMove(before.status, after.status);
  const written = await tx.execute(update, scope, [
    before.id,
    before.version,
    after.status,
    after.amountPaidCents,
    after.paymentIntentId,
    after.chargeId,
    after.backupChargeStatus,
    after.paidAt,
    after.attempts,
    after.firstFailedAt,
    after.failureCode,
    after.declineCode,
    after.refusedPaymentMethodId,
    after.payWithPaymentMethodId,
    after.paysOnPage,
    after.payWithBackupPaymentMethodId,
    after.healthRefused,
    after.refusedBackupPaymentMethodId,
    after.scheduledPaymentAt,
    after.updatedPaymentMethodIds,
    after.pageTriesWithoutCharge,
  ]);
  if (written !== 1) throw new Error('An invoice changed after it was read');
  return { ...after, version: before.version + 1n };
}

// Under the names of the statement's columns.
function insertedRow(invoice: Invoice) {
  return {
    id: invoice.id,
    subscription_id: invoice.subscriptionId,
    customer_id: invoice.customerId,
    checkout_session_id: invoice.checkoutSessionId,
    status: invoice.status,
    total_cents: invoice.totalCents,
    amount_paid_cents: invoice.amountPaidCents,
    payment_intent_id: invoice.paymentIntentId,
    charge_id: invoice.chargeId,
    period_start: invoice.periodStart,
    period_end: invoice.periodEnd,
    paid_at: invoice.paidAt,
    metadata: invoice.metadata,
    created_at: invoice.createdAt,
    eligible_cents: invoice.eligibleCents,
    finalized_at: invoice.finalizedAt,
    billing_reason: invoice.billingReason,
    page_url: invoice.pageUrl,
  };
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
  backup_charge_status: Invoice['backupChargeStatus'];
  period_start: Date;
  period_end: Date;
  paid_at: Date | null;
  eligible_cents: bigint;
  finalized_at: Date | null;
  attempts: number;
  page_tries_without_charge: number;
  first_failed_at: Date | null;
  failure_code: string | null;
  decline_code: string | null;
  refused_payment_method_id: string | null;
  billing_reason: Invoice['billingReason'];
  pay_with_payment_method_id: string | null;
  page_url: string | null;
  pays_on_page: boolean;
  pay_with_backup_payment_method_id: string | null;
  health_refused: boolean;
  refused_backup_payment_method_id: string | null;
  scheduled_payment_at: Date | null;
  updated_payment_method_ids: string[];
  version: bigint;
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
    eligibleCents: centsFromInt64(row.eligible_cents),
    finalizedAt: row.finalized_at,
    attempts: row.attempts,
    pageTriesWithoutCharge: row.page_tries_without_charge,
    firstFailedAt: row.first_failed_at,
    failureCode: row.failure_code,
    declineCode: row.decline_code,
    refusedPaymentMethodId: row.refused_payment_method_id,
    billingReason: row.billing_reason,
    pageUrl: row.page_url,
    payWithPaymentMethodId: row.pay_with_payment_method_id,
    paysOnPage: row.pays_on_page,
    payWithBackupPaymentMethodId: row.pay_with_backup_payment_method_id,
    healthRefused: row.health_refused,
    refusedBackupPaymentMethodId: row.refused_backup_payment_method_id,
    scheduledPaymentAt: row.scheduled_payment_at,
    updatedPaymentMethodIds: row.updated_payment_method_ids,
    metadata: row.metadata,
    createdAt: row.created_at,
    version: row.version,
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
  'eligible_cents',
  'finalized_at',
  'attempts',
  'page_tries_without_charge',
  'first_failed_at',
  'failure_code',
  'decline_code',
  'refused_payment_method_id',
  'billing_reason',
  'pay_with_payment_method_id',
  'page_url',
  'pays_on_page',
  'pay_with_backup_payment_method_id',
  'health_refused',
  'refused_backup_payment_method_id',
  'scheduled_payment_at',
  'updated_payment_method_ids',
  'version',
];
const selectOne = scoped<InvoiceRow>(
  'invoices.find',
  `select ${columns.join(', ')} from invoices where account_id = $1 and test_mode = $2 and id = $3`,
);
const selectForUpdate = scoped<InvoiceRow>(
  'invoices.lock',
  `select ${columns.join(', ')} from invoices where account_id = $1 and test_mode = $2 and id = $3 for update`,
);
const selectMany = scoped<InvoiceRow>(
  'invoices.find_many',
  `select ${columns.join(', ')} from invoices where account_id = $1 and test_mode = $2 and id = any($3::text[])`,
);
const selectSeveralForUpdate = scoped<InvoiceRow>(
  'invoices.lock_several',
  `select ${columns.join(', ')} from invoices where account_id = $1 and test_mode = $2 and id = any($3::text[]) order by id
   limit ${maxGroupSize} for update skip locked`,
);
// The limits are of a group: without them the planner expects a hundred rows of JSON.
const insert = scoped(
  'invoices.insert',
  `with made as materialized (
     select m.* from rows from (json_to_recordset($3::json) as (
       id text, subscription_id text, customer_id text, checkout_session_id text, status text, total_cents bigint, amount_paid_cents bigint,
       payment_intent_id text, charge_id text, period_start timestamptz, period_end timestamptz, paid_at timestamptz, metadata jsonb,
       created_at timestamptz, eligible_cents bigint, finalized_at timestamptz, billing_reason text, page_url text)) with ordinality as m
     limit ${maxGroupSize}
   ), numbered as (
     insert into invoice_numbers (account_id, test_mode, next) values ($1, $2, 1 + $4::bigint)
     on conflict (account_id, test_mode) do update set next = invoice_numbers.next + $4::bigint returning next - 1 - $4::bigint as last
   )
   insert into invoices (account_id, test_mode, id, subscription_id, customer_id, checkout_session_id, status, collection_method,
     total_cents, amount_paid_cents, payment_intent_id, charge_id, period_start, period_end, paid_at, metadata, created_at, eligible_cents,
     finalized_at, billing_reason, page_url, number, time_zone)
   select $1, $2, m.id, m.subscription_id, m.customer_id, m.checkout_session_id, m.status, 'charge_automatically', m.total_cents,
     m.amount_paid_cents, m.payment_intent_id, m.charge_id, m.period_start, m.period_end, m.paid_at, m.metadata, m.created_at,
     m.eligible_cents, m.finalized_at, m.billing_reason, m.page_url, numbered.last + m.ordinality,
     coalesce((select z.time_zone from time_zones z where z.account_id = $1 and z.test_mode = $2), $5)
   from made m, numbered`,
);
const updatePaid = scoped(
  'invoices.save_paid',
  `with paid as materialized (
     select p.* from json_to_recordset($3::json) as p (
       id text, version bigint, status text, amount_paid_cents bigint, payment_intent_id text, charge_id text, paid_at timestamptz)
     limit ${maxGroupSize}
   )
   update invoices i set status = p.status, amount_paid_cents = p.amount_paid_cents, payment_intent_id = p.payment_intent_id,
     charge_id = p.charge_id, paid_at = p.paid_at, version = i.version + 1
   from paid p where i.account_id = $1 and i.test_mode = $2 and i.id = p.id and i.version = p.version`,
);
const update = scoped(
  'invoices.save',
  `update invoices set status = $5, amount_paid_cents = $6, payment_intent_id = $7, charge_id = $8, backup_charge_status = $9, paid_at = $10,
     attempts = $11, first_failed_at = $12, failure_code = $13, decline_code = $14, refused_payment_method_id = $15,
     pay_with_payment_method_id = $16, pays_on_page = $17, pay_with_backup_payment_method_id = $18, health_refused = $19,
     refused_backup_payment_method_id = $20, scheduled_payment_at = $21, updated_payment_method_ids = $22,
     page_tries_without_charge = $23, version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3 and version = $4`,
);
