import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { metadataOf, pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';
import { customTextOf, shippingOf } from './session-creation.ts';

type Creation = NonNullable<(typeof routes.paymentLinks.create)['body']>['schema']['_output'];
type Line = Creation['line_items'][number];

export function paymentLinkBindings({ checkout }: Peers, answers: Answers): Binding[] {
  const { list, create, get, update } = routes.paymentLinks;
  return [
    bind(list, async (request) => {
      const { query, call } = request;
      const page = await checkout.listPaymentLinks({ page: pageOf(query), ...given({ active: query.active }) }, call);
      return answers.list(request, 'payment_link', page.paymentLinks, page.hasMore);
    }),
    bind(create, async (request) => {
      const message = { ...creationOf(request.body), ...given({ idempotency: request.idempotency }) };
      return answers.one(request, 'payment_link', await checkout.createPaymentLink(message, request.call));
    }),
    bind(get, async (request) =>
      answers.one(request, 'payment_link', await checkout.getPaymentLink({ id: request.id }, request.call)),
    ),
    bind(update, async (request) => {
      const { active, metadata } = request.body;
      const message = { id: request.id, ...given({ active, metadata: metadataOf(metadata) }) };
      return answers.one(request, 'payment_link', await checkout.updatePaymentLink(message, request.call));
    }),
  ];
}

function creationOf(body: Creation) {
  const { active = true, metadata = {}, custom_text: customText } = body;
  return {
    lines: body.line_items.map(lineOf),
    active,
    metadata,
    terms: {
      shipping: shippingOf(body.shipping_options),
      shippingAddressCollection: body.shipping_address_collection ?? false,
      ...given({
        successUrl: body.success_url,
        cancelUrl: body.cancel_url,
        setupFutureUse: body.setup_future_use,
        customText: customText === undefined ? undefined : customTextOf(customText),
      }),
    },
  };
}

function lineOf({ price, product = '', quantity = 1 }: Line) {
  const item =
    price === undefined ? { case: 'productId' as const, value: product } : { case: 'priceId' as const, value: price };
  return { item, quantity: BigInt(quantity) };
}
