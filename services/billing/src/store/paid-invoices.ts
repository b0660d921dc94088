import { type Db, type Scope, scoped } from '@eligo/postgres';
import { type Cents, centsFromInt64 } from '@eligo/values';

/** An invoice on which something was paid. */
export interface PaidInvoice {
  readonly id: string;
  /** The session that it was paid with. */
  readonly checkoutSessionId: string | null;
  readonly amountPaidCents: Cents;
}

/** Those of the newest invoices of a subscription that are for a time from `since` on and on which something was paid, and whether there may be more. */
export async function paidInvoicesSince(
  db: Db,
  scope: Scope,
  subscriptionId: string,
  since: Date,
): Promise<{ invoices: PaidInvoice[]; mayBeMore: boolean }> {
  const rows = await db.rows(selectPaid, scope, [subscriptionId, mostInvoices]);
  const ofPeriod = rows.filter((row) => row.period_start >= since);
  return {
    invoices: ofPeriod
      .filter((row) => row.amount_paid_cents > 0n)
      .map((row) => ({
        id: row.id,
        checkoutSessionId: row.checkout_session_id,
        amountPaidCents: centsFromInt64(row.amount_paid_cents),
      })),
    mayBeMore: ofPeriod.length === mostInvoices,
  };
}

/** The payment intents that took money for these invoices. */
export async function intentsOfInvoices(db: Db, scope: Scope, invoiceIds: readonly string[]): Promise<string[]> {
  if (invoiceIds.length === 0) return [];
  const rows = await db.rows(selectIntents, scope, [invoiceIds]);
  return rows.flatMap(({ payment_intent_id: id }) => id ?? []);
}

// Of one period: each change that is charged at once makes one.
const mostInvoices = 100;

const selectPaid = scoped<{
  id: string;
  checkout_session_id: string | null;
  amount_paid_cents: bigint;
  period_start: Date;
}>(
  'invoices.newest_of_subscription',
  `select id, checkout_session_id, amount_paid_cents, period_start from invoices
   where account_id = $1 and test_mode = $2 and subscription_id = $3 order by id desc limit $4`,
);
const selectIntents = scoped<{ payment_intent_id: string | null }>(
  'invoice_charges.intents',
  `select payment_intent_id from invoice_charges
   where account_id = $1 and test_mode = $2 and invoice_id = any($3::text[]) and status = 'succeeded'`,
);
