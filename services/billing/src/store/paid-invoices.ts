import { type Db, type Scope, scoped } from '@eligo/postgres';
import { type Cents, cents, centsFromInt64, sumCents } from '@eligo/values';

/** An invoice on which something was paid, with cards or with credits. */
export interface PaidInvoice {
  readonly id: string;
  /** The session that it was paid with. */
  readonly checkoutSessionId: string | null;
  readonly amountPaidCents: Cents;
  /** Whether all of it was paid, so that its credits paid a part of it. */
  readonly isPaid: boolean;
}

/** Those of the newest invoices of a subscription that are for a time from `since` on and on which something was paid, newest first, and whether there may be more. */
export async function paidInvoicesSince(
  db: Db,
  scope: Scope,
  subscriptionId: string,
  since: Date,
): Promise<{ invoices: PaidInvoice[]; firstId: string | undefined; mayBeMore: boolean }> {
  const rows = await db.rows(selectPaid, scope, [subscriptionId, mostInvoices]);
  const ofPeriod = rows.filter((row) => row.period_start >= since);
  return {
    invoices: ofPeriod
      .map((row) => ({
        id: row.id,
        checkoutSessionId: row.checkout_session_id,
        amountPaidCents: centsFromInt64(row.amount_paid_cents),
        isPaid: row.status === 'paid',
      }))
      .filter((one) => one.amountPaidCents > 0 || (one.isPaid && one.checkoutSessionId === null)),
    firstId: ofPeriod.at(-1)?.id,
    mayBeMore: ofPeriod.length === mostInvoices,
  };
}

/**
 * What credits of the time before a period paid of its invoices, beyond the charges for that time which they carry. Whatever the first invoice of the period carries is
 * of the time before.
 */
export async function earlierCreditsOf(
  db: Db,
  scope: Scope,
  invoiceIds: readonly string[],
  { firstId, since }: { readonly firstId: string | undefined; readonly since: Date },
): Promise<Cents> {
  if (invoiceIds.length === 0) return cents(0);
  const rows = await db.rows(selectEarlierCredits, scope, [invoiceIds, firstId ?? '', since]);
  return sumCents(rows.map(({ net_cents: net }) => centsFromInt64(net > 0n ? net : 0n)));
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
  status: string;
}>(
  'invoices.newest_of_subscription',
  `select id, checkout_session_id, amount_paid_cents, period_start, status from invoices
   where account_id = $1 and test_mode = $2 and subscription_id = $3 order by id desc limit $4`,
);
const selectEarlierCredits = scoped<{ net_cents: bigint }>(
  'invoice_credits.of_earlier_time',
  `select sum(carried.net_cents)::bigint as net_cents from (
     select invoice_id, proration_id, amount_cents as net_cents from invoice_credits
      where account_id = $1 and test_mode = $2 and invoice_id = any($3::text[])
     union all
     select invoice_id, proration_id, -total_cents from invoice_lines
      where account_id = $1 and test_mode = $2 and invoice_id = any($3::text[]) and proration_id is not null) as carried
   join prorations p on p.account_id = $1 and p.test_mode = $2 and p.id = carried.proration_id
   where carried.invoice_id = $4 or p.period_start < $5
   group by carried.invoice_id`,
);
const selectIntents = scoped<{ payment_intent_id: string | null }>(
  'invoice_charges.intents',
  `select payment_intent_id from invoice_charges
   where account_id = $1 and test_mode = $2 and invoice_id = any($3::text[]) and status = 'succeeded'`,
);
