import { renderEvaluatedItem, routes } from '@eligo/contract';
import { given } from '@eligo/values';
import { type Binding, bind } from '../bind.ts';
import { cents } from '../messages.ts';
import type { Peers } from '../peers.ts';

type Asked = NonNullable<(typeof routes.eligibility.evaluate)['body']>['schema']['_output']['items'][number];

export function eligibilityBindings({ catalog }: Peers): Binding[] {
  return [
    bind(routes.eligibility.evaluate, async (request) => {
      const asked = request.body.items.map(itemOf);
      const { items } = await catalog.evaluateEligibility({ items: asked }, request.call);
      if (items.length !== asked.length) throw new Error('The catalog returned a different number of items');
      return {
        items: asked.flatMap((item, at) => {
          const evaluated = items[at];
          return evaluated === undefined ? [] : [renderEvaluatedItem(item, evaluated)];
        }),
      };
    }),
  ];
}

function itemOf(asked: Asked) {
  const quantity = BigInt(asked.quantity ?? 1);
  return { item: namedBy(asked), quantity, ...given({ unitAmountCents: cents(asked.unit_amount) }) };
}

// What names an item most exactly decides; the contract has seen to it that one is given.
function namedBy({ price, product, gtin, upc_code }: Asked) {
  if (price !== undefined) return { case: 'priceId' as const, value: price };
  if (product !== undefined) return { case: 'productId' as const, value: product };
  if (gtin !== undefined) return { case: 'gtin' as const, value: gtin };
  return { case: 'upcCode' as const, value: upc_code ?? '' };
}
