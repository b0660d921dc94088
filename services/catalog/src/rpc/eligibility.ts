import { Failure } from '@eligo/failures';
import { type CatalogService, type EligibilityItem, EvaluatedItemSchema } from '@eligo/proto/catalog/v1/catalog';
import type { Implementation } from '@eligo/rpc';
import { type EligibilityQuestion, evaluateEligibility } from '../actions/evaluate-eligibility.ts';
import type { Context } from '../context.ts';
import { messageOf, timeOf } from '../messages/message.ts';
import { eligibilityMessage } from '../messages/records.ts';

export function eligibilityHandlers(context: Context): Implementation<typeof CatalogService> {
  return {
    async evaluateEligibility({ items, atMs }, call) {
      const at = atMs === undefined ? undefined : timeOf(atMs);
      const answers = await evaluateEligibility(context, call, items.map(questionOf), at);
      return {
        items: answers.map(({ decision, amountEligibleCents }) =>
          messageOf(EvaluatedItemSchema, { decision: eligibilityMessage(decision), amountEligibleCents }),
        ),
      };
    },
  };
}

function questionOf({ item, quantity, unitAmountCents }: EligibilityItem, index: number): EligibilityQuestion {
  // A quantity left out is one.
  const amounts = { quantity: quantity === 0n ? 1n : quantity, unitAmountCents };
  switch (item.case) {
    case 'productId':
      return { item: { kind: 'product', id: item.value }, ...amounts };
    case 'priceId':
      return { item: { kind: 'price', id: item.value }, ...amounts };
    case 'upcCode':
      return { item: { kind: 'upc_code', code: item.value }, ...amounts };
    case 'gtin':
      return { item: { kind: 'gtin', code: item.value }, ...amounts };
    default:
      throw Failure.invalid(['body', 'items', String(index)], 'missing', 'Send product, price, upc_code or gtin');
  }
}
