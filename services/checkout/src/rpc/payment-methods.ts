import { Failure } from '@eligo/failures';
import { pageOf, type Scope } from '@eligo/postgres';
import type { CheckoutService, PaymentMethod as PaymentMethodMessage } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { present } from '@eligo/values';
import { attachPaymentMethod, detachPaymentMethod } from '../actions/attach-payment-method.ts';
import { createTestPaymentMethod } from '../actions/create-test-payment-method.ts';
import { updatePaymentMethod } from '../actions/update-payment-method.ts';
import type { Context } from '../context.ts';
import { whyNotChargeable } from '../domain/card-account.ts';
import type { PaymentMethod } from '../domain/payment-method.ts';
import { paymentMethodMessage } from '../messages/payment-method.ts';
import { findCustomer } from '../store/customers.ts';
import { findPaymentMethod, findPaymentMethods, listPaymentMethods } from '../store/payment-methods.ts';

/** Payment methods: stored cards, and whose they are. */
export function paymentMethodHandlers(context: Context): Implementation<typeof CheckoutService> {
  const { database } = context;
  return {
    async createTestPaymentMethod({ customerId, card, offSession }, { scope }) {
      const request = {
        customerId: customerId ?? null,
        card,
        cardLoc: ['body', 'payment_method', 'card'],
        offSession: offSession ?? true,
      };
      return paymentMethodMessage(scope, await createTestPaymentMethod(context, scope, request));
    },

    async getPaymentMethod({ id }, { scope }) {
      const method = await findPaymentMethod(database, scope, id);
      if (method === undefined) throw new Failure('payment_method_not_found');
      return readMessage(context, scope, method);
    },

    async batchGetPaymentMethods({ ids }, { scope }) {
      const methods = await findPaymentMethods(database, scope, ids);
      return { paymentMethods: methods.map((method) => readMessage(context, scope, method)), hasMore: false };
    },

    async listPaymentMethods({ customerId, page }, { scope }) {
      if ((await findCustomer(database, scope, customerId)) === undefined) throw new Failure('customer_not_found');
      const { paymentMethods, hasMore } = await listPaymentMethods(database, scope, pageOf(page), customerId);
      return { paymentMethods: paymentMethods.map((method) => paymentMethodMessage(scope, method)), hasMore };
    },

    async attachPaymentMethod({ id, customerId }, { scope }) {
      return paymentMethodMessage(scope, await attachPaymentMethod(context, scope, id, customerId));
    },

    async updatePaymentMethod({ id, hsaFsa }, { scope }) {
      return paymentMethodMessage(scope, await updatePaymentMethod(context, scope, id, { hsaFsa }));
    },

    async detachPaymentMethod({ id }, { scope }) {
      return paymentMethodMessage(scope, await detachPaymentMethod(context, scope, id));
    },
  };
}

// Billing charges nothing of an invoice unless all cards that it needs can be charged (decisions 14.90).
function readMessage({ processors }: Context, scope: Scope, method: PaymentMethod): PaymentMethodMessage {
  const reason = whyNotChargeable(method, processors.findOf(scope)?.account);
  return { ...paymentMethodMessage(scope, method), ...present({ notChargeable: reason ?? null }) };
}
