import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import type { ChargeStatus, InvoiceCharge } from '../domain/invoice.ts';

/** The charges of an invoice, oldest first: a few for each day of dunning. */
export async function loadInvoiceCharges(db: Db, scope: Scope, invoiceId: string): Promise<InvoiceCharge[]> {
  return (await db.rows(select, scope, [invoiceId])).map(fromRow);
}

/** The charge of an invoice whose outcome is not known, or undefined. */
export async function findPendingCharge(db: Db, scope: Scope, invoiceId: string): Promise<InvoiceCharge | undefined> {
  const row = await db.row(selectPending, scope, [invoiceId]);
  return row && fromRow(row);
}

/** Writes a charge before checkout is asked for it. The unique indexes allow one at a time, and each part of an invoice once. */
export async function insertInvoiceCharge(tx: Tx, scope: Scope, charge: InvoiceCharge): Promise<void> {
  await tx.execute(insert, scope, [
    charge.id,
    charge.invoiceId,
    charge.leg,
    charge.backup,
    charge.paymentMethodId,
    charge.amountCents,
    charge.actingAt,
    charge.createdAt,
    charge.onPage,
  ]);
}

/** Records what became of a charge, with the time on the wall clock; false when it was recorded before, and nothing is written. */
export async function settleInvoiceCharge(
  tx: Tx,
  scope: Scope,
  id: string,
  outcome: {
    readonly status: Exclude<ChargeStatus, 'pending'>;
    readonly paymentIntentId: string | null;
    readonly chargeId: string | null;
    readonly failureCode: string | null;
    readonly declineCode: string | null;
    readonly settledAt: Date;
  },
): Promise<boolean> {
  const { status, paymentIntentId, chargeId, failureCode, declineCode, settledAt } = outcome;
  const values = [id, status, paymentIntentId, chargeId, failureCode, declineCode, settledAt];
  return (await tx.execute(settle, scope, values)) === 1;
}

interface ChargeRow {
  id: string;
  invoice_id: string;
  leg: InvoiceCharge['leg'];
  backup: boolean;
  payment_method_id: string;
  on_page: boolean;
  amount_cents: bigint;
  status: ChargeStatus;
  acting_at: Date;
  payment_intent_id: string | null;
  charge_id: string | null;
  failure_code: string | null;
  decline_code: string | null;
  created_at: Date;
}

function fromRow(row: ChargeRow): InvoiceCharge {
  return {
    id: row.id,
    invoiceId: row.invoice_id,
    leg: row.leg,
    backup: row.backup,
    paymentMethodId: row.payment_method_id,
    onPage: row.on_page,
    amountCents: centsFromInt64(row.amount_cents),
    status: row.status,
    actingAt: row.acting_at,
    paymentIntentId: row.payment_intent_id,
    chargeId: row.charge_id,
    failureCode: row.failure_code,
    declineCode: row.decline_code,
    createdAt: row.created_at,
  };
}

const columns = `id, invoice_id, leg, backup, payment_method_id, on_page, amount_cents, status, acting_at, payment_intent_id, charge_id,
     failure_code, decline_code, created_at`;
const select = scoped<ChargeRow>(
  'invoice_charges.of_invoice',
  `select ${columns} from invoice_charges where account_id = $1 and test_mode = $2 and invoice_id = $3 order by id`,
);
const selectPending = scoped<ChargeRow>(
  'invoice_charges.pending',
  `select ${columns} from invoice_charges where account_id = $1 and test_mode = $2 and invoice_id = $3 and status = 'pending'`,
);
const insert = scoped(
  'invoice_charges.insert',
  `insert into invoice_charges (account_id, test_mode, id, invoice_id, leg, backup, payment_method_id, amount_cents, acting_at, created_at, on_page, status)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending')`,
);
const settle = scoped(
  'invoice_charges.settle',
  `update invoice_charges set status = $4, payment_intent_id = $5, charge_id = $6, failure_code = $7, decline_code = $8, settled_at = $9
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'pending'`,
);
