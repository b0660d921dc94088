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
export function insertInvoiceCharge(tx: Tx, scope: Scope, charge: InvoiceCharge): Promise<void> {
  return insertInvoiceCharges(tx, scope, [charge]);
}

/** The same for charges of several invoices. */
export async function insertInvoiceCharges(tx: Tx, scope: Scope, charges: readonly InvoiceCharge[]): Promise<void> {
  if (charges.length === 0) return;
  const column = <Key extends keyof InvoiceCharge>(key: Key) => charges.map((charge) => charge[key]);
  await tx.execute(insert, scope, [
    column('id'),
    column('invoiceId'),
    column('leg'),
    column('backup'),
    column('paymentMethodId'),
    column('amountCents'),
    column('actingAt'),
    column('createdAt'),
    column('onPage'),
    column('withCustomer'),
  ]);
}

/** What became of a charge, and when it was known on the wall clock. */
export interface SettledCharge {
  readonly status: Exclude<ChargeStatus, 'pending'>;
  readonly paymentIntentId: string | null;
  readonly chargeId: string | null;
  readonly failureCode: string | null;
  readonly declineCode: string | null;
  readonly settledAt: Date;
}

/** Records what became of a charge; false when it was recorded before, and nothing is written. */
export async function settleInvoiceCharge(tx: Tx, scope: Scope, id: string, outcome: SettledCharge): Promise<boolean> {
  return (await settleInvoiceCharges(tx, scope, [{ id, ...outcome }])) === 1;
}

/** The same for charges of several invoices; answers how many were not recorded before. */
export async function settleInvoiceCharges(
  tx: Tx,
  scope: Scope,
  settled: readonly (SettledCharge & { readonly id: string })[],
): Promise<number> {
  const column = <Key extends keyof SettledCharge | 'id'>(key: Key) => settled.map((one) => one[key]);
  return tx.execute(settle, scope, [
    column('id'),
    column('status'),
    column('paymentIntentId'),
    column('chargeId'),
    column('failureCode'),
    column('declineCode'),
    column('settledAt'),
  ]);
}

/** Notes on the charge of an invoice whose outcome is not known that its bank has updated this card since it began. The caller holds the invoice. */
export async function noteUpdatedCard(tx: Tx, scope: Scope, invoiceId: string, paymentMethodId: string): Promise<void> {
  await tx.execute(noteUpdated, scope, [invoiceId, paymentMethodId]);
}

/** Notes on a charge whose outcome is not known that another card was given meanwhile, and was refused. */
export async function noteNewCard(tx: Tx, scope: Scope, id: string): Promise<void> {
  await tx.execute(noteNew, scope, [id]);
}

/** What happened while a charge was on its way. */
export interface MeanwhileOfCharge {
  /** The bank of its card has updated it. */
  readonly isCardUpdated: boolean;
  /** Another card was given, and was refused until the outcome is known. */
  readonly awaitsNewCard: boolean;
}

export async function findMeanwhile(tx: Tx, scope: Scope, id: string): Promise<MeanwhileOfCharge> {
  const row = await tx.row(selectMeanwhile, scope, [id]);
  return { isCardUpdated: row?.card_updated === true, awaitsNewCard: row?.awaits_new_card === true };
}

interface ChargeRow {
  id: string;
  invoice_id: string;
  leg: InvoiceCharge['leg'];
  backup: boolean;
  payment_method_id: string;
  on_page: boolean;
  with_customer: boolean;
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
    withCustomer: row.with_customer,
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

const columns = `id, invoice_id, leg, backup, payment_method_id, on_page, with_customer, amount_cents, status, acting_at, payment_intent_id, charge_id,
     failure_code, decline_code, created_at`;
const select = scoped<ChargeRow>(
  'invoice_charges.of_invoice',
  `select ${columns} from invoice_charges where account_id = $1 and test_mode = $2 and invoice_id = $3 order by id`,
);
const selectPending = scoped<ChargeRow>(
  'invoice_charges.pending',
  `select ${columns} from invoice_charges where account_id = $1 and test_mode = $2 and invoice_id = $3 and status = 'pending'`,
);
const selectMeanwhile = scoped<{ card_updated: boolean; awaits_new_card: boolean }>(
  'invoice_charges.meanwhile',
  'select card_updated, awaits_new_card from invoice_charges where account_id = $1 and test_mode = $2 and id = $3',
);
const noteUpdated = scoped(
  'invoice_charges.note_updated_card',
  `update invoice_charges set card_updated = true
   where account_id = $1 and test_mode = $2 and invoice_id = $3 and payment_method_id = $4 and status = 'pending' and not card_updated`,
);
const noteNew = scoped(
  'invoice_charges.note_new_card',
  `update invoice_charges set awaits_new_card = true
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'pending' and not awaits_new_card`,
);
const insert = scoped(
  'invoice_charges.insert',
  `insert into invoice_charges (account_id, test_mode, id, invoice_id, leg, backup, payment_method_id, amount_cents, acting_at, created_at, on_page, with_customer, status)
   select $1, $2, charge.*, 'pending'
   from unnest($3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[], $8::bigint[], $9::timestamptz[], $10::timestamptz[], $11::boolean[], $12::boolean[])
     as charge (id, invoice_id, leg, backup, payment_method_id, amount_cents, acting_at, created_at, on_page, with_customer)`,
);
const settle = scoped(
  'invoice_charges.settle',
  `update invoice_charges c set status = s.status, payment_intent_id = s.payment_intent_id, charge_id = s.charge_id, failure_code = s.failure_code,
     decline_code = s.decline_code, settled_at = s.settled_at
   from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[])
     as s (id, status, payment_intent_id, charge_id, failure_code, decline_code, settled_at)
   where c.account_id = $1 and c.test_mode = $2 and c.id = s.id and c.status = 'pending'`,
);
