import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

/** Payment intents, setup intents and charges: read only. */
export function paymentBindings({ checkout }: Peers, answers: Answers): Binding[] {
  const { paymentIntents, setupIntents, charges } = routes;
  return [
    bind(paymentIntents.list, async (request) => {
      const { query, call } = request;
      const filters = given({ customerId: query.customer, checkoutSessionId: query.checkout_session });
      const page = await checkout.listPaymentIntents({ page: pageOf(query), ...filters }, call);
      return answers.list(request, 'payment_intent', page.paymentIntents, page.hasMore);
    }),
    bind(paymentIntents.get, async (request) =>
      answers.one(request, 'payment_intent', await checkout.getPaymentIntent({ id: request.id }, request.call)),
    ),
    bind(setupIntents.list, async (request) => {
      const { query, call } = request;
      const filters = given({ customerId: query.customer });
      const page = await checkout.listSetupIntents({ page: pageOf(query), ...filters }, call);
      return answers.list(request, 'setup_intent', page.setupIntents, page.hasMore);
    }),
    bind(setupIntents.get, async (request) =>
      answers.one(request, 'setup_intent', await checkout.getSetupIntent({ id: request.id }, request.call)),
    ),
    bind(charges.list, async (request) => {
      const { query, call } = request;
      const filters = given({ paymentIntentId: query.payment_intent });
      const page = await checkout.listCharges({ page: pageOf(query), ...filters }, call);
      return answers.list(request, 'charge', page.charges, page.hasMore);
    }),
    bind(charges.get, async (request) =>
      answers.one(request, 'charge', await checkout.getCharge({ id: request.id }, request.call)),
    ),
  ];
}
