import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { needsLetter } from '../domain/eligible-classes.ts';
import type { Eligibility } from '../domain/finalized-invoice.ts';

/** What the catalog says of a product's eligibility. */
export interface Classified {
  readonly productId: string | null;
  readonly decision: Omit<Eligibility, 'letterId'>;
}

/**
 * The decisions in their order, each with the customer's letter for its product that is valid at this time. Checkout is asked once, and only if an item
 * needs a letter.
 */
export async function withLetters(
  context: Pick<Context, 'checkout' | 'callerFor'>,
  scope: Scope,
  customerId: string,
  classified: readonly Classified[],
  at: Date,
): Promise<Eligibility[]> {
  const products = new Set<string>();
  for (const { productId, decision } of classified) {
    if (productId !== null && needsLetter(decision.eligibility)) products.add(productId);
  }
  const letters = new Map<string, string>();
  if (products.size > 0) {
    const asked = { customerId, productIds: [...products], atMs: BigInt(at.getTime()) };
    const found = await context.checkout.findValidLetters(asked, { caller: context.callerFor(scope) });
    for (const { productId, letterId } of found.letters) letters.set(productId, letterId);
  }
  return classified.map(({ productId, decision }) => {
    const letterId = needsLetter(decision.eligibility) ? letters.get(productId ?? '') : undefined;
    return { ...decision, letterId: letterId ?? null };
  });
}
