import { Failure } from '@eligo/failures';
import type { BillingService } from '@eligo/proto/billing/v1/billing';
import type { Implementation } from '@eligo/rpc';
import { present } from '@eligo/values';
import type { Context } from '../context.ts';
import { invoiceMessage } from '../messages/records.ts';
import { loadInvoiceCharges } from '../store/invoice-charges.ts';
import { loadInvoiceLines } from '../store/invoice-lines.ts';
import { findIssuedFacts, loadProratedParts, type ProratedPart } from '../store/invoice-statements.ts';
import { findInvoice } from '../store/invoices.ts';
import { loadInvoiceCredits } from '../store/prorations.ts';

/** What the documents of an invoice show of it. */
export function invoiceStatementHandlers({
  database,
}: Context): Pick<Implementation<typeof BillingService>, 'getInvoiceStatement'> {
  return {
    async getInvoiceStatement({ id }, { scope }) {
      const [charges, invoice, { number, timeZone }, lines, credits] = await Promise.all([
        loadInvoiceCharges(database, scope, id),
        findInvoice(database, scope, id),
        findIssuedFacts(database, scope, id),
        loadInvoiceLines(database, scope, id),
        loadInvoiceCredits(database, scope, id),
      ]);
      if (invoice === undefined) throw new Failure('invoice_not_found');
      const prorationIds = [...lines, ...credits].flatMap(({ prorationId }) => prorationId ?? []);
      const parts = await loadProratedParts(database, scope, prorationIds);
      return {
        invoice: invoiceMessage(scope, invoice),
        lines: lines.map((line) => ({
          quantity: BigInt(line.quantity),
          subtotalCents: BigInt(line.subtotalCents),
          discountCents: BigInt(line.discountCents),
          taxCents: BigInt(line.taxCents),
          shippingCents: BigInt(line.shippingCents),
          totalCents: BigInt(line.totalCents),
          eligibleCents: BigInt(line.eligibleCents),
          ...present({ productId: line.productId, eligibility: line.eligibility }),
          ...partOf(parts.get(line.prorationId ?? '')),
        })),
        credits: credits.map((credit) => {
          const part = parts.get(credit.prorationId);
          return {
            amountCents: BigInt(credit.amountCents),
            eligible: credit.eligible,
            ...present({ productId: part?.productId, eligibility: credit.eligibility }),
            ...partOf(part),
          };
        }),
        payments: charges
          .filter(({ status }) => status === 'succeeded')
          .map(({ leg, paymentMethodId, paymentIntentId, amountCents, actingAt }) => ({
            leg,
            paymentMethodId,
            amountCents: BigInt(amountCents),
            atMs: BigInt(actingAt.getTime()),
            ...present({ paymentIntentId }),
          })),
        ...present({ number, timeZone, checkoutSessionId: invoice.checkoutSessionId }),
      };
    },
  };
}

function partOf(part: ProratedPart | undefined) {
  if (part === undefined) return {};
  const { periodStart, periodEnd, isShare } = part;
  return { periodStartMs: BigInt(periodStart.getTime()), periodEndMs: BigInt(periodEnd.getTime()), isShare };
}
