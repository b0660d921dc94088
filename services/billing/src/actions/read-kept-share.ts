import type { Scope } from '@eligo/postgres';
import { sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import type { KeptShare } from '../domain/kept-share.ts';
import type { Subscription } from '../domain/subscription.ts';
import { paidInvoicesSince } from '../store/paid-invoices.ts';
import { readTakenBack } from './read-taken-back.ts';

/**
 * What was paid for the present period of a subscription, and what checkout says was refunded or disputed of it. A dispute counts while it is open or lost. Undefined for
 * a period of so many invoices that not all are looked at.
 */
export async function readKeptShare(
  context: Context,
  scope: Scope,
  { id, currentPeriodStart }: Subscription,
): Promise<KeptShare | undefined> {
  const { invoices, mayBeMore } = await paidInvoicesSince(context.database, scope, id, currentPeriodStart);
  if (mayBeMore) return undefined;
  const takenBack = await readTakenBack(context, scope, invoices);
  return {
    paidCents: sumCents(invoices.map(({ amountPaidCents }) => amountPaidCents)),
    takenBackCents: sumCents([...takenBack.values()]),
  };
}
