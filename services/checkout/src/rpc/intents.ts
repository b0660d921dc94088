import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import type { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { chargeMessage, intentMessage, setupIntentMessage } from '../messages/intents.ts';
import { findCharge, listCharges } from '../store/charges.ts';
import { findIntent, findIntents, listIntents } from '../store/payment-intents.ts';
import { findSetupIntent, listSetupIntents } from '../store/setup-intents.ts';

/** Payment intents, set-up intents and charges, to read. */
export function intentHandlers({ database }: Context): Implementation<typeof CheckoutService> {
  return {
    async getPaymentIntent({ id }, { scope }) {
      const intent = await findIntent(database, scope, id);
      if (intent === undefined) throw new Failure('payment_intent_not_found');
      return intentMessage(scope, intent);
    },

    async batchGetPaymentIntents({ ids }, { scope }) {
      const intents = await findIntents(database, scope, ids);
      return { paymentIntents: intents.map((intent) => intentMessage(scope, intent)), hasMore: false };
    },

    async listPaymentIntents({ page, customerId, checkoutSessionId }, { scope }) {
      const of = { customerId, sessionId: checkoutSessionId };
      const { intents, hasMore } = await listIntents(database, scope, pageOf(page), of);
      return { paymentIntents: intents.map((intent) => intentMessage(scope, intent)), hasMore };
    },

    async getSetupIntent({ id }, { scope }) {
      const setup = await findSetupIntent(database, scope, id);
      if (setup === undefined) throw new Failure('setup_intent_not_found');
      return setupIntentMessage(scope, setup);
    },

    async listSetupIntents({ page, customerId }, { scope }) {
      const { setupIntents, hasMore } = await listSetupIntents(database, scope, pageOf(page), customerId);
      return { setupIntents: setupIntents.map((setup) => setupIntentMessage(scope, setup)), hasMore };
    },

    async getCharge({ id }, { scope }) {
      const charge = await findCharge(database, scope, id);
      if (charge === undefined) throw new Failure('charge_not_found');
      return chargeMessage(scope, charge);
    },

    async listCharges({ page, paymentIntentId }, { scope }) {
      const { charges, hasMore } = await listCharges(database, scope, pageOf(page), paymentIntentId);
      return { charges: charges.map((charge) => chargeMessage(scope, charge)), hasMore };
    },
  };
}
