import { Failure } from '@eligo/failures';
import { maxGroupSize } from '@eligo/postgres';
import {
  type CatalogService,
  type EligibilityItem,
  type EvaluatedItem,
  EvaluatedItemSchema,
} from '@eligo/proto/catalog/v1/catalog';
import type { Implementation } from '@eligo/rpc';
import {
  type EligibilityAnswer,
  type EligibilityQuestion,
  evaluateEligibility,
  evaluateTogether,
} from '../actions/evaluate-eligibility.ts';
import type { Context } from '../context.ts';
import { messageOf, timeOf } from '../messages/message.ts';
import { eligibilityMessage } from '../messages/records.ts';

export function eligibilityHandlers(context: Context): Implementation<typeof CatalogService> {
  return {
    async evaluateEligibility({ items, atMs }, call) {
      const at = atMs === undefined ? undefined : timeOf(atMs);
      return { items: (await evaluateEligibility(context, call, items.map(questionOf), at)).map(answerMessage) };
    },

    async batchEvaluateEligibility({ requests }, call) {
      if (requests.length > maxGroupSize) throw new Failure('bad_request');
      const now = context.clock.now();
      const asked = requests.map(({ items, atMs }) => ({
        questions: items.map(questionOf),
        at: atMs === undefined ? now : timeOf(atMs),
      }));
      const answers = await evaluateTogether(context, call, asked);
      return { responses: answers.map((items) => ({ items: items.map(answerMessage) })) };
    },
  };
}

function answerMessage({ decision, amountEligibleCents }: EligibilityAnswer): EvaluatedItem {
  return messageOf(EvaluatedItemSchema, { decision: eligibilityMessage(decision), amountEligibleCents });
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
