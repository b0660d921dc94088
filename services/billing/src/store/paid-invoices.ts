import { type Db, type Scope, scoped } from '@eligo/postgres';
import { type Cents, centsFromInt64 } from '@eligo/values';
import type { InvoiceCharge } from '../domain/invoice.ts';
import type { CarriedProrations } from '../domain/paid-time.ts';
import type { Subscription } from '../domain/subscription.ts';

/** An invoice on which something was paid, with cards or with credits. */
export interface PaidInvoice {
  readonly id: string;
  /** The session that it was paid with. */
  readonly checkoutSessionId: string | null;
  readonly amountPaidCents: Cents;
  /** What of it a health card may pay. */
  readonly eligibleCents: Cents;
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
        eligibleCents: centsFromInt64(row.eligible_cents),
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
 * The charges and credits that these invoices of a period carry. One of the moment in which the period began is of an earlier one, unless an invoice of the period is for
 * its time: then the money that it credits is that invoice's, and counts already.
 */
export async function carriedProrations(
  db: Db,
  scope: Scope,
  invoiceIds: readonly string[],
  { firstId, start, ends }: InvoicesOfPeriod,
): Promise<CarriedProrations[]> {
  if (invoiceIds.length === 0) return [];
  const rows = await db.rows(selectCarried, scope, [invoiceIds, firstId ?? '', start, ends]);
  return rows.map((row) => ({
    invoiceId: row.invoice_id,
    eligible: row.eligible,
    chargedCents: centsFromInt64(row.charged_cents),
    creditedCents: centsFromInt64(row.credited_cents),
    time: row.time_start === null || row.time_end === null ? null : { start: row.time_start, end: row.time_end },
  }));
}

/** What an intent took for an invoice. */
export interface PaymentOfInvoice {
  readonly invoiceId: string;
  readonly intentId: string;
  readonly leg: InvoiceCharge['leg'];
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
  return rows.flatMap(({ invoice_id: invoiceId, payment_intent_id: intentId, leg, amount_cents: amount }) =>
    intentId === null ? [] : [{ invoiceId, intentId, leg, amountCents: centsFromInt64(amount) }],
  );
}

// Of one period: each change that is charged at once makes one.
const mostInvoices = 100;

interface NewestRow {
  readonly id: string;
  readonly checkout_session_id: string | null;
  readonly amount_paid_cents: bigint;
  readonly eligible_cents: bigint;
  readonly period_start: Date;
  readonly period_end: Date;
  readonly status: string;
}

const selectNewest = scoped<NewestRow>(
  'invoices.newest_of_subscription',
  `select id, checkout_session_id, amount_paid_cents, eligible_cents, period_start, period_end, status from invoices
   where account_id = $1 and test_mode = $2 and subscription_id = $3 order by id desc limit $4`,
);
interface CarriedRow {
  readonly invoice_id: string;
  readonly eligible: boolean;
  readonly time_start: Date | null;
  readonly time_end: Date | null;
  readonly charged_cents: bigint;
  readonly credited_cents: bigint;
}

const selectCarried = scoped<CarriedRow>(
  'invoice_credits.carried',
  `select carried.invoice_id, carried.eligible, own.time_start, own.time_end,
     sum(carried.charged_cents)::bigint as charged_cents, sum(carried.credited_cents)::bigint as credited_cents
   from (
     select invoice_id, proration_id, eligible, 0::bigint as charged_cents, amount_cents as credited_cents from invoice_credits
      where account_id = $1 and test_mode = $2 and invoice_id = any($3::text[])
     union all
     select invoice_id, proration_id, eligible_cents > 0, total_cents, 0 from invoice_lines
      where account_id = $1 and test_mode = $2 and invoice_id = any($3::text[]) and proration_id is not null) as carried
   join prorations p on p.account_id = $1 and p.test_mode = $2 and p.id = carried.proration_id
   left join lateral (select p.period_start as time_start, p.period_end as time_end
     where not (carried.invoice_id = $4 or p.period_start < $5 or (p.period_start = $5 and p.period_end <> all($6::timestamptz[])))) as own on true
   group by carried.invoice_id, carried.eligible, own.time_start, own.time_end`,
);
const selectIntents = scoped<{
  invoice_id: string;
  payment_intent_id: string | null;
  leg: InvoiceCharge['leg'];
  amount_cents: bigint;
}>(
  'invoice_charges.intents',
  `select invoice_id, payment_intent_id, leg, amount_cents from invoice_charges
   where account_id = $1 and test_mode = $2 and invoice_id = any($3::text[]) and status = 'succeeded' order by created_at, id`,
);
