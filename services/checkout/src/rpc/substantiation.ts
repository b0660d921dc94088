import type { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { readSubstantiation } from '../actions/read-substantiation.ts';
import type { Context } from '../context.ts';
import { substantiationMessage } from '../messages/substantiation.ts';

/** The proof of a session's eligibility, to read. */
export function substantiationHandlers({ database }: Context): Implementation<typeof CheckoutService> {
  return {
    async getSubstantiation({ id }, { scope }) {
      return substantiationMessage(scope, await readSubstantiation(database, scope, id));
    },
  };
}
