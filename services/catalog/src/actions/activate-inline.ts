import { withTx } from '@eligo/postgres';
import type { Asker, Context } from '../context.ts';
import { keepInlineCoupons } from '../store/coupons.ts';
import { activateInlineLines } from '../store/inline-lines.ts';

/**
 * Puts the products and prices that a session's inline lines made up for sale and keeps the coupons that it brought, once the session has been
 * committed. Repeatable.
 */
export function activateInline({ database, clock }: Context, { scope }: Asker, sessionId: string): Promise<void> {
  return withTx(
    database,
    scope,
    async (tx) => {
      await Promise.all([
        activateInlineLines(tx, scope, sessionId, clock.now()),
        keepInlineCoupons(tx, scope, sessionId),
      ]);
    },
    // The job that propagates a product's state takes its prices in another order.
    { retrySerialization: 3 },
  );
}
