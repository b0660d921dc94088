import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

/** Captures: read only. */
export function captureBindings({ checkout }: Peers, answers: Answers): Binding[] {
  const { list, get } = routes.captures;
  return [
    bind(list, async (request) => {
      const { query, call } = request;
      const filters = given({ checkoutSessionId: query.checkout_session, paymentIntentId: query.payment_intent });
      const page = await checkout.listCaptures({ page: pageOf(query), ...filters }, call);
      return answers.list(request, 'capture', page.captures, page.hasMore);
    }),
    bind(get, async (request) =>
      answers.one(request, 'capture', await checkout.getCapture({ id: request.id }, request.call)),
    ),
  ];
}
