import type { BillingService } from '@eligo/proto/billing/v1/billing';
import type { Call, Implementation } from '@eligo/rpc';
import { present } from '@eligo/values';
import { payInvoiceOnPage } from '../actions/pay-invoice-on-page.ts';
import { readInvoicePage } from '../actions/read-invoice-page.ts';
import { resumeInvoicePayment } from '../actions/resume-invoice-payment.ts';
import type { Context } from '../context.ts';
import { invoiceMessage } from '../messages/records.ts';

type InvoicePageCalls = Pick<
  Implementation<typeof BillingService>,
  'getInvoicePage' | 'payInvoiceOnPage' | 'resumeInvoicePayment'
>;

/** The calls of the payment page of an invoice. Each answers with the page as it then is. */
export function invoicePageHandlers(context: Context): InvoicePageCalls {
  return {
    getInvoicePage: ({ id }, call) => pageOf(context, call, id),

    async payInvoiceOnPage({ id, cards }, call) {
      const typed = cards.map(({ processorPaymentMethodId, slot }) => ({
        processorPaymentMethodId,
        slot: slot === 'health' ? ('health' as const) : ('other' as const),
      }));
      await payInvoiceOnPage(context, call, id, typed);
      return pageOf(context, call, id);
    },

    async resumeInvoicePayment({ id, giveUp }, call) {
      await resumeInvoicePayment(context, call, id, giveUp);
      return pageOf(context, call, id);
    },
  };
}

async function pageOf(context: Context, call: Call, id: string) {
  const { scope } = call;
  const { invoice, lines, payment, ...page } = await readInvoicePage(context, call, id);
  return {
    invoice: invoiceMessage(scope, invoice),
    lines: lines.map((line) => ({
      quantity: BigInt(line.quantity),
      subtotalCents: BigInt(line.subtotalCents),
      eligibleCents: BigInt(line.eligibleCents),
      intervalCount: BigInt(line.intervalCount),
      ...present({ productId: line.productId, eligibility: line.eligibility, interval: line.interval }),
    })),
    discountCents: BigInt(page.discountCents),
    shippingCents: BigInt(page.shippingCents),
    taxCents: BigInt(page.taxCents),
    dueCents: BigInt(page.dueCents),
    healthCardCents: BigInt(page.healthCardCents),
    refusesHealthCards: payment?.refusesHealthCards === true,
    payable: page.isPayable,
    paymentInFlight: page.isInFlight,
    ...present({
      failureCode: invoice.failureCode,
      declineCode: invoice.declineCode,
      processor: payment?.processor,
      processorAccount: payment?.processorAccount,
      clientSecret: page.isInFlight ? payment?.clientSecret : undefined,
    }),
  };
}
