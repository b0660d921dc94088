import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import type { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { decideLetter } from '../actions/decide-letter.ts';
import type { Context } from '../context.ts';
import { letterWithReviewer } from '../messages/letter.ts';
import { findLetter, findValidLetters, listLetters } from '../store/letters.ts';

/** Letters of medical necessity: read, and decided in test mode. */
export function letterHandlers(context: Context): Implementation<typeof CheckoutService> {
  const { database } = context;
  return {
    async getLetter({ id }, { scope }) {
      const letter = await findLetter(database, scope, id);
      if (letter === undefined) throw new Failure('letter_not_found');
      return letterWithReviewer(scope, letter);
    },

    async listLetters({ page, customerId, checkoutSessionId, status }, { scope }) {
      const filter = { customerId, sessionId: checkoutSessionId, status };
      const { letters, hasMore } = await listLetters(database, scope, pageOf(page), filter);
      return { letters: letters.map((letter) => letterWithReviewer(scope, letter)), hasMore };
    },

    async findValidLetters({ customerId, productIds, atMs }, { scope }) {
      const found = await findValidLetters(database, scope, customerId, productIds, new Date(Number(atMs)));
      return { letters: [...found].map(([productId, { id }]) => ({ productId, letterId: id })) };
    },

    async decideTestLetter({ id, approve }, { scope }) {
      if (!scope.testMode) throw new Failure('test_mode_required');
      return letterWithReviewer(scope, await decideLetter(context, scope, id, approve ? 'approved' : 'denied'));
    },
  };
}
