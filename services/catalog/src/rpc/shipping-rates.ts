import { Failure } from '@eligo/failures';
import type { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import type { Implementation } from '@eligo/rpc';
import { createShippingRate } from '../actions/create-shipping-rate.ts';
import { updateShippingRate } from '../actions/update-shipping-rate.ts';
import type { Context } from '../context.ts';
import { shippingRateMessage } from '../messages/records.ts';
import { findShippingRate, listShippingRates } from '../store/shipping-rates.ts';
import { pageRequestOf } from './page-request.ts';

export function shippingRateHandlers(context: Context): Implementation<typeof CatalogService> {
  return {
    async createShippingRate(request, call) {
      return shippingRateMessage(await createShippingRate(context, call, request), call.scope.testMode);
    },
    async getShippingRate({ id }, { scope }) {
      const rate = await findShippingRate(context.database, scope, id);
      if (rate === undefined) throw new Failure('shipping_rate_not_found');
      return shippingRateMessage(rate, scope.testMode);
    },
    async listShippingRates({ page, active }, { scope }) {
      const { rows, hasMore } = await listShippingRates(context.database, scope, pageRequestOf(page), active);
      return { shippingRates: rows.map((rate) => shippingRateMessage(rate, scope.testMode)), hasMore };
    },
    async updateShippingRate({ id, active, metadata }, call) {
      return shippingRateMessage(
        await updateShippingRate(context, call, id, { active, metadata }),
        call.scope.testMode,
      );
    },
  };
}
