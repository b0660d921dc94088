import { Failure } from '@eligo/failures';
import type { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import type { Implementation } from '@eligo/rpc';
import { createCoupon } from '../actions/create-coupon.ts';
import { deleteCoupon } from '../actions/delete-coupon.ts';
import type { Context } from '../context.ts';
import { couponMessage } from '../messages/records.ts';
import { findCoupon, findCoupons, listCoupons } from '../store/coupons.ts';
import { couponInputOf } from './inputs.ts';
import { pageRequestOf } from './page-request.ts';

export function couponHandlers(context: Context): Implementation<typeof CatalogService> {
  return {
    async createCoupon(request, call) {
      return couponMessage(await createCoupon(context, call, couponInputOf(request)), call.scope.testMode);
    },
    async getCoupon({ id }, { scope }) {
      const coupon = await findCoupon(context.database, scope, id);
      if (coupon === undefined) throw new Failure('coupon_not_found');
      return couponMessage(coupon, scope.testMode);
    },
    async batchGetCoupons({ ids }, { scope }) {
      const coupons = ids.length === 0 ? [] : await findCoupons(context.database, scope, ids);
      return { coupons: coupons.map((coupon) => couponMessage(coupon, scope.testMode)), hasMore: false };
    },
    async listCoupons({ page }, { scope }) {
      const { rows, hasMore } = await listCoupons(context.database, scope, pageRequestOf(page));
      return { coupons: rows.map((coupon) => couponMessage(coupon, scope.testMode)), hasMore };
    },
    async deleteCoupon({ id }, call) {
      return couponMessage(await deleteCoupon(context, call, id), call.scope.testMode);
    },
  };
}
