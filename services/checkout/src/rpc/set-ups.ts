import type { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { present } from '@eligo/values';
import { setUpSubscription } from '../actions/set-up-subscription.ts';
import type { Context } from '../context.ts';

/** What billing asks for the card of a subscription that charges nothing yet. */
export function setUpHandlers(context: Context): Pick<Implementation<typeof CheckoutService>, 'setUpSubscription'> {
  return {
    async setUpSubscription({ subscriptionId, customerId, paymentMethodId, expiresInMs, giveUp }, { scope }) {
      const standing = await setUpSubscription(context, scope, {
        ...{ subscriptionId, customerId, giveUp },
        paymentMethodId: paymentMethodId ?? null,
        expiresInMs: Number(expiresInMs),
      });
      switch (standing.outcome) {
        case 'waits':
          return { outcome: standing.outcome, ...present({ clientSecret: standing.clientSecret }) };
        case 'saved': {
          const { outcome, paymentMethodId: saved, namedCardId } = standing;
          return { outcome, paymentMethodId: saved, ...present({ namedPaymentMethodId: namedCardId }) };
        }
        case 'over':
          return standing;
      }
    },
  };
}
