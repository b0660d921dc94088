import { appendAll } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { ProratedLines, SubscriptionInvoice } from '../domain/invoice.ts';
import { insertInvoiceLines } from '../store/invoice-lines.ts';
import { insertInvoice } from '../store/invoices.ts';
import { carryProrations } from '../store/prorations.ts';
import { invoiceStateEvents } from './billing-events.ts';

/** Writes a new invoice of a subscription with its page, its lines and the prorations that it carries, and tells of it. The caller holds its subscription's row. */
export async function writeInvoice(
  { pages }: Pick<Context, 'pages'>,
  tx: Tx,
  scope: Scope,
  made: SubscriptionInvoice,
  { lines, credits }: ProratedLines,
  at: Date,
): Promise<void> {
  const invoice = { ...made, pageUrl: pages.urlOfInvoice(scope, made.id) };
  await appendAll(tx, invoiceStateEvents(scope, invoice, at));
  await insertInvoice(tx, scope, invoice);
  await insertInvoiceLines(tx, scope, [{ invoiceId: invoice.id, lines }]);
  const chargeIds = lines.flatMap(({ prorationId }) => (prorationId === null ? [] : [prorationId]));
  await carryProrations(tx, scope, made.subscriptionId, invoice.id, { credits, chargeIds });
}
