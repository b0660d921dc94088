import type { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { present } from '@eligo/values';
import { adoptInvoiceCard } from '../actions/adopt-invoice-card.ts';
import { readInvoicePayment } from '../actions/read-invoice-payment.ts';
import { resumeInvoiceAuthentication } from '../actions/resume-invoice-authentication.ts';
import type { Context } from '../context.ts';
import { acceptsHealthCards, hidesHealthCards } from '../domain/confirm-rules.ts';
import { paymentMethodMessage } from '../messages/payment-method.ts';

type InvoicePageCalls = Pick<
  Implementation<typeof CheckoutService>,
  'getInvoicePayment' | 'adoptInvoiceCard' | 'resumeInvoiceAuthentication'
>;

/** What billing asks for the payment page of an invoice. */
export function invoicePageHandlers(context: Context): InvoicePageCalls {
  return {
    async getInvoicePayment({ id }, { scope, caller }) {
      const { inFlight, clientSecret, cardFields } = await readInvoicePayment(context, scope, id);
      return {
        inFlight,
        refusesHealthCards: hidesHealthCards(caller),
        ...present({ clientSecret, processor: cardFields?.processor, processorAccount: cardFields?.account }),
      };
    },

    async adoptInvoiceCard(request, { scope, caller }) {
      const { invoiceId, customerId, processorPaymentMethodId, slot } = request;
      const method = await adoptInvoiceCard(context, scope, {
        ...{ invoiceId, customerId, processorPaymentMethodId },
        slot: slot === 'health' ? 'health' : 'other',
        refusesHealthCards: !acceptsHealthCards(caller),
      });
      return paymentMethodMessage(scope, method);
    },

    async resumeInvoiceAuthentication({ id, giveUp }, { scope }) {
      await resumeInvoiceAuthentication(context, scope, id, giveUp);
      return {};
    },
  };
}
