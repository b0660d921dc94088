import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import type { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { decideLetter } from '../actions/decide-letter.ts';
import type { Charging } from '../charging.ts';
import { letterMessage } from '../messages/letter.ts';
import { findLetter, listLetters } from '../store/letters.ts';

/** Letters of medical necessity: read, and decided in test mode. */
export function letterHandlers(charging: Charging): Implementation<typeof CheckoutService> {
  const { database } = charging;
  return {
    async getLetter({ id }, { scope }) {
      const letter = await findLetter(database, scope, id);
      if (letter === undefined) throw new Failure('letter_not_found');
      return letterMessage(scope, letter);
    },

    async listLetters({ page, customerId, checkoutSessionId, status }, { scope }) {
      const filter = { customerId, sessionId: checkoutSessionId, status };
      const { letters, hasMore } = await listLetters(database, scope, pageOf(page), filter);
      return { letters: letters.map((letter) => letterMessage(scope, letter)), hasMore };
    },

    async decideTestLetter({ id, approve }, { scope }) {
      if (!scope.testMode) throw new Failure('test_mode_required');
      return letterMessage(scope, await decideLetter(charging, scope, id, approve ? 'approved' : 'denied'));
    },
  };
}
