import type { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { recordHealthCardStatement } from '../actions/record-health-card-statement.ts';
import type { Context } from '../context.ts';

/** What the gateway tells of an account. */
export function healthCardStatementHandlers(
  context: Context,
): Pick<Implementation<typeof CheckoutService>, 'recordHealthCardStatement'> {
  return {
    async recordHealthCardStatement({ substantiation, version }, { scope }) {
      await recordHealthCardStatement(context, scope, { substantiation: substantiation || null, version });
      return {};
    },
  };
}
