import type { MessageInitShape } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { EvaluatedItem, EvaluateEligibilityRequestSchema } from '@eligo/proto/catalog/v1/catalog';
import type { Context } from '../context.ts';
import type { Eligibility } from '../domain/finalized-invoice.ts';
import type { Subscription } from '../domain/subscription.ts';
import { findAccountFeatures } from '../store/account-features.ts';
import { withLetters } from './find-letters.ts';

/**
 * What the catalog decides of each item as of a time, by what the account can do today. Throws `lock_timeout` while that is not known and an item was sold by the
 * food policy.
 */
export async function eligibilityAt(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  at: Date,
): Promise<Eligibility[]> {
  const features = await findAccountFeatures(context.database, scope);
  if (features === undefined && needsFeatures(subscription))
    throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
  const { items } = await context.catalog.evaluateEligibility(questionOf(subscription, at), {
    caller: context.callerFor({ ...scope, features: features ?? [] }),
  });
  return decided(context, scope, subscription, items, at);
}

/** The same for several subscriptions, each as of the beginning of its next period, with one call for all. Undefined for one that cannot be judged yet. */
export async function eligibilityOfSeveral(
  context: Context,
  scope: Scope,
  subscriptions: readonly Subscription[],
): Promise<(Eligibility[] | undefined)[]> {
  const features = await findAccountFeatures(context.database, scope);
  const judged = features === undefined ? subscriptions.filter((one) => !needsFeatures(one)) : subscriptions;
  if (judged.length === 0) return subscriptions.map(() => undefined);
  const requests = judged.map((subscription) => questionOf(subscription, subscription.currentPeriodEnd));
  const { responses } = await context.catalog.batchEvaluateEligibility(
    { requests },
    { caller: context.callerFor({ ...scope, features: features ?? [] }) },
  );
  const answers = new Map(judged.map(({ id }, index) => [id, responses[index]?.items]));
  return Promise.all(
    subscriptions.map((subscription) => {
      const items = answers.get(subscription.id);
      return items && decided(context, scope, subscription, items, subscription.currentPeriodEnd);
    }),
  );
}

/**
 * Whether a subscription cannot be judged until what its account can do is known: what was sold by the food policy is judged by it again only where the account still
 * has the feature. Anything else is judged without the feature until then.
 */
export function needsFeatures({ items }: Subscription): boolean {
  return items.some((item) => item.soldByRule === 'food_policy');
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
