import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { cents, pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

export function shippingRateBindings({ catalog }: Peers, answers: Answers): Binding[] {
  const { list, create, get, update } = routes.shippingRates;
  return [
    bind(list, async (request) => {
      const { query, call } = request;
      const page = await catalog.listShippingRates({ page: pageOf(query), ...given({ active: query.active }) }, call);
      return answers.list(request, 'shipping_rate', page.shippingRates, page.hasMore);
    }),
    bind(create, async (request) => {
      const { display_name, amount, metadata = {} } = request.body;
      const message = { displayName: display_name, amountCents: cents(amount), metadata };
      return answers.one(request, 'shipping_rate', await catalog.createShippingRate(message, request.call));
    }),
    bind(get, async (request) =>
      answers.one(request, 'shipping_rate', await catalog.getShippingRate({ id: request.id }, request.call)),
    ),
    bind(update, async (request) => {
      const { active, metadata = {} } = request.body;
      const message = { id: request.id, metadata, ...given({ active }) };
      return answers.one(request, 'shipping_rate', await catalog.updateShippingRate(message, request.call));
    }),
  ];
}
