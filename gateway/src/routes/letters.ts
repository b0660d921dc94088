import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

/** Letters of medical necessity: read only. No API key decides a live one. */
export function letterBindings({ checkout }: Peers, answers: Answers): Binding[] {
  const { letters } = routes;
  return [
    bind(letters.list, async (request) => {
      const { query, call } = request;
      const filters = given({
        customerId: query.customer,
        checkoutSessionId: query.checkout_session,
        status: query.status,
      });
      const page = await checkout.listLetters({ page: pageOf(query), ...filters }, call);
      return answers.list(request, 'letter', page.letters, page.hasMore);
    }),
    bind(letters.get, async (request) =>
      answers.one(request, 'letter', await checkout.getLetter({ id: request.id }, request.call)),
    ),
  ];
}
