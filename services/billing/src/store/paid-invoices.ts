import { type Db, type Scope, scoped } from '@eligo/postgres';
import { type Cents, cents, centsFromInt64, sumCents } from '@eligo/values';
import type { Subscription } from '../domain/subscription.ts';

/** An invoice on which something was paid, with cards or with credits. */
export interface PaidInvoice {
  readonly id: string;
  /** The session that it was paid with. */
  readonly checkoutSessionId: string | null;
  readonly amountPaidCents: Cents;
  /** Whether all of it was paid, so that its credits paid a part of it. */
  readonly isPaid: boolean;
  readonly periodStart: Date;
  readonly periodEnd: Date;
}

/** The invoices of the present period of a subscription. */
export interface InvoicesOfPeriod {
  /** Those on which something was paid, newest first. */
  readonly paid: readonly PaidInvoice[];
  /** The one that began the period. It carries what was pending at the end of the period before. */
  readonly firstId: string | undefined;
  readonly start: Date;
  /** When the periods that they are for end. There are two of them where a period began in the millisecond in which another one had begun. */
  readonly ends: readonly Date[];
  readonly mayBeMore: boolean;
}

/** Those of the newest invoices of a subscription that are for a time from the start of its present period on. */
export async function invoicesOfPeriod(
  db: Db,
  scope: Scope,
  { id, currentPeriodStart: start, currentPeriodEnd: end }: Subscription,
): Promise<InvoicesOfPeriod> {
  const rows = await db.rows(selectNewest, scope, [id, mostInvoices]);
  const ofPeriod = rows.filter((row) => row.period_start >= start);
  return {
    paid: ofPeriod
      .map((row) => ({
        id: row.id,
        checkoutSessionId: row.checkout_session_id,
        amountPaidCents: centsFromInt64(row.amount_paid_cents),
        isPaid: row.status === 'paid',
        periodStart: row.period_start,
        periodEnd: row.period_end,
      }))
      .filter((one) => one.amountPaidCents > 0 || (one.isPaid && one.checkoutSessionId === null)),
    firstId: ofPeriod.at(-1)?.id,
    start,
    ends: [end, ...ofPeriod.map((row) => row.period_end)],
    mayBeMore: ofPeriod.length === mostInvoices,
  };
}

/**
 * What credits of earlier periods paid of these invoices of a period, beyond the charges for earlier periods which they carry. A credit of the moment in which the period began
 * is of an earlier one, unless an invoice of the period is for the time that it credits: then the money that it credits is that invoice's, and counts already.
 */
export async function earlierCreditsOf(
  db: Db,
  scope: Scope,
  invoiceIds: readonly string[],
  { firstId, start, ends }: InvoicesOfPeriod,
): Promise<Cents> {
  if (invoiceIds.length === 0) return cents(0);
  const rows = await db.rows(selectEarlierCredits, scope, [invoiceIds, firstId ?? '', start, ends]);
  return sumCents(rows.map(({ net_cents: net }) => centsFromInt64(net > 0n ? net : 0n)));
}

/** What an intent took for an invoice. */
export interface PaymentOfInvoice {
  readonly invoiceId: string;
  readonly intentId: string;
  readonly amountCents: Cents;
}

/** The payment intents that took money for these invoices. */
export async function intentsOfInvoices(
  db: Db,
  scope: Scope,
  invoiceIds: readonly string[],
): Promise<PaymentOfInvoice[]> {
  if (invoiceIds.length === 0) return [];
  const rows = await db.rows(selectIntents, scope, [invoiceIds]);
  return rows.flatMap(({ invoice_id: invoiceId, payment_intent_id: intentId, amount_cents: amount }) =>
    intentId === null ? [] : [{ invoiceId, intentId, amountCents: centsFromInt64(amount) }],
  );
}

// Of one period: each change that is charged at once makes one.
const mostInvoices = 100;

interface NewestRow {
  readonly id: string;
  readonly checkout_session_id: string | null;
  readonly amount_paid_cents: bigint;
  readonly period_start: Date;
  readonly period_end: Date;
  readonly status: string;
}

const selectNewest = scoped<NewestRow>(
  'invoices.newest_of_subscription',
  `select id, checkout_session_id, amount_paid_cents, period_start, period_end, status from invoices
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
   where carried.invoice_id = $4 or p.period_start < $5 or (p.period_start = $5 and p.period_end <> all($6::timestamptz[]))
   group by carried.invoice_id`,
);
const selectIntents = scoped<{ invoice_id: string; payment_intent_id: string | null; amount_cents: bigint }>(
  'invoice_charges.intents',
  `select invoice_id, payment_intent_id, amount_cents from invoice_charges
   where account_id = $1 and test_mode = $2 and invoice_id = any($3::text[]) and status = 'succeeded' order by created_at, id`,
);
