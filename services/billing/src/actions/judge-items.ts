import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import type { EvaluatedItem, EvaluateEligibilityRequestSchema } from '@eligo/proto/catalog/v1/catalog';
import type { Context } from '../context.ts';
import type { Eligibility } from '../domain/finalized-invoice.ts';
import type { Subscription } from '../domain/subscription.ts';
import { withLetters } from './find-letters.ts';

/**
 * What the catalog decides of each item as of a time. The account's features do not travel with work of billing's own: an item that was sold by the food policy is
 * judged by it again, because the account had the feature then.
 */
export async function eligibilityAt(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  at: Date,
): Promise<Eligibility[]> {
  const { items } = await context.catalog.evaluateEligibility(questionOf(subscription, at), {
    caller: context.callerFor({ ...scope, features: featuresOf(subscription) }),
  });
  return decided(context, scope, subscription, items, at);
}

/** The same for several subscriptions, each as of the beginning of its next period, with one call for all. Undefined for one that is asked for alone. */
export async function eligibilityOfSeveral(
  context: Context,
  scope: Scope,
  subscriptions: readonly Subscription[],
): Promise<(Eligibility[] | undefined)[]> {
  // One that has the feature is judged by another caller than the others.
  const plain = subscriptions.filter((subscription) => featuresOf(subscription).length === 0);
  if (plain.length === 0) return subscriptions.map(() => undefined);
  const requests = plain.map((subscription) => questionOf(subscription, subscription.currentPeriodEnd));
  const { responses } = await context.catalog.batchEvaluateEligibility(
    { requests },
    { caller: context.callerFor({ ...scope, features: [] }) },
  );
  const items = new Map(plain.map(({ id }, index) => [id, responses[index]?.items]));
  return Promise.all(
    subscriptions.map((subscription) => {
      const judged = items.get(subscription.id);
      return judged && decided(context, scope, subscription, judged, subscription.currentPeriodEnd);
    }),
  );
}

function featuresOf({ items }: Subscription): string[] {
  return items.some((item) => item.soldByRule === 'food_policy') ? ['food_eligibility'] : [];
}

function questionOf({ items }: Subscription, at: Date): MessageInitShape<typeof EvaluateEligibilityRequestSchema> {
  return {
    items: items.map((item) => ({
      item: { case: 'priceId' as const, value: item.priceId },
      quantity: BigInt(item.quantity),
    })),
    atMs: BigInt(at.getTime()),
  };
}

function decided(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  items: readonly EvaluatedItem[],
  at: Date,
): Promise<Eligibility[]> {
  const classified = items.map(({ decision }, index) => ({
    productId: subscription.items[index]?.productId ?? null,
    decision: {
      eligibility: decision?.hsaFsaEligibility ?? null,
      rule: decision?.rule ?? 'none',
      ruleVersion: decision?.ruleVersion ?? '',
      rationale: decision?.rationale ?? '',
    },
  }));
  return withLetters(context, scope, subscription.customerId, classified, at);
}
