import { withTx } from '@eligo/postgres';
import type { BillingService } from '@eligo/proto/billing/v1/billing';
import type { Implementation } from '@eligo/rpc';
import { recordAccountFeatures } from '../actions/record-account-features.ts';
import type { Context } from '../context.ts';
import { recordShopName } from '../store/shop-names.ts';
import { recordTimeZone } from '../store/time-zones.ts';

/** What the gateway tells of an account. */
export function accountFactHandlers({
  database,
}: Pick<Context, 'database'>): Pick<
  Implementation<typeof BillingService>,
  'recordAccountFeatures' | 'recordShopName' | 'recordTimeZone'
> {
  return {
    async recordAccountFeatures({ features, version }, { scope }) {
      await recordAccountFeatures({ database }, scope, { features, version });
      return {};
    },
    async recordShopName({ name, version }, { scope }) {
      await withTx(database, scope, (tx) => recordShopName(tx, scope, { name, version }));
      return {};
    },
    async recordTimeZone({ timeZone, version }, { scope }) {
      await withTx(database, scope, (tx) => recordTimeZone(tx, scope, { timeZone, version }));
      return {};
    },
  };
}
