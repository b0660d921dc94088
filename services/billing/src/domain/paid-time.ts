import { type Cents, cents, sumCents } from '@eligo/values';
import type { InvoiceCharge } from './invoice.ts';
import { keptOf } from './kept-share.ts';
import { unusedPart } from './proration.ts';

/** What of a payment is for a time. Below zero for a credit of time that another payment paid. */
export interface PaidTime {
  readonly cents: Cents;
  readonly start: Date;
  readonly end: Date;
}

/** The charges and credits of changes of items that an invoice carries, of one time and of what a health card may pay, or of the rest. */
export interface CarriedProrations {
  readonly invoiceId: string;
  readonly eligible: boolean;
  readonly chargedCents: Cents;
  readonly creditedCents: Cents;
  /** Null for those of periods before the one of the invoice. */
  readonly time: { readonly start: Date; readonly end: Date } | null;
}

/** A charge that paid an invoice, or a part of it, with what of it is neither refunded nor disputed. */
interface ChargeOfInvoice {
  readonly leg: InvoiceCharge['leg'];
  readonly amountCents: Cents;
  readonly leftCents: Cents;
  /** Whether a health card paid the other part. */
  readonly isBesideHealth: boolean;
  readonly periodStart: Date;
  readonly periodEnd: Date;
}

/**
 * What is left of a charge, by the times that it paid for. `carried` is all that its invoice carries. A health card paid the eligible lines, the card beside it the other ones, and a card that paid
 * alone paid all. A line of a proration is for the time of that, and every other line for the period of the invoice. Charges of an earlier period are for none that is left; what credits of an earlier period paid beyond these charges counts
 * as paid with the card.
 */
export function timesOfCharge(charge: ChargeOfInvoice, carried: readonly CarriedProrations[]): PaidTime[] {
  const { leg, amountCents, leftCents, isBesideHealth, periodStart, periodEnd } = charge;
  const own = carried.filter(({ eligible }) => (leg === 'health' ? eligible : !(isBesideHealth && eligible)));
  const wholeCents = cents(amountCents - sumCents(own.map(netOf)));
  const creditCents = sumCents(own.map((one) => cents(one.time === null ? Math.max(0, -netOf(one)) : 0)));
  const kept = { paidCents: cents(amountCents + creditCents), takenBackCents: cents(amountCents - leftCents) };
  return [
    { cents: keptOf(wholeCents, kept), start: periodStart, end: periodEnd },
    ...own.flatMap((one) => (one.time === null ? [] : [{ cents: keptOf(netOf(one), kept), ...one.time }])),
  ];
}

/** What credits of earlier periods paid of invoices, of each beyond the charges for earlier periods that it carries. */
export function earlierCredits(carried: readonly CarriedProrations[]): Cents {
  const ofInvoices = new Map<string, number>();
  for (const one of carried) {
    if (one.time === null) ofInvoices.set(one.invoiceId, (ofInvoices.get(one.invoiceId) ?? 0) - netOf(one));
  }
  return sumCents([...ofInvoices.values()].map((credit) => cents(Math.max(0, credit))));
}

/** What of these is for the time after `at`. */
export function unusedOfTimes(times: readonly PaidTime[], at: Date): Cents {
  const unused = sumCents(times.map(({ cents: paid, start, end }) => unusedPart(paid, { period: { start, end }, at })));
  return cents(Math.max(0, unused));
}

function netOf({ chargedCents, creditedCents }: CarriedProrations): Cents {
  return cents(chargedCents - creditedCents);
}
