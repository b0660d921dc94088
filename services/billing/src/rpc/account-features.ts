import { withTx } from '@eligo/postgres';
import type { BillingService } from '@eligo/proto/billing/v1/billing';
import type { Implementation } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { saveAccountFeatures } from '../store/account-features.ts';

/** What the gateway tells of an account. */
export function accountFeatureHandlers({
  database,
}: Pick<Context, 'database'>): Pick<Implementation<typeof BillingService>, 'recordAccountFeatures'> {
  return {
    async recordAccountFeatures({ features, version }, { scope }) {
      await withTx(database, scope, (tx) => saveAccountFeatures(tx, scope, { features, version }));
      return {};
    },
  };
}
