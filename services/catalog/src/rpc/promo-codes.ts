import { Failure } from '@eligo/failures';
import type { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import type { Implementation } from '@eligo/rpc';
import { createPromoCode } from '../actions/create-promo-code.ts';
import { updatePromoCode } from '../actions/update-promo-code.ts';
import type { Context } from '../context.ts';
import { promoCodeKey } from '../domain/promo-code.ts';
import { timeOf } from '../messages/message.ts';
import { promoCodeMessage } from '../messages/records.ts';
import { findPromoCode, listPromoCodes } from '../store/promo-codes.ts';
import { pageRequestOf } from './page-request.ts';

export function promoCodeHandlers(context: Context): Implementation<typeof CatalogService> {
  return {
    async createPromoCode(request, call) {
      const input = {
        couponId: request.couponId,
        code: request.code,
        customerId: request.customerId ?? null,
        maxRedemptions: request.maxRedemptions ?? null,
        expiresAt: request.expiresAtMs === undefined ? null : timeOf(request.expiresAtMs),
        active: request.active ?? true,
        metadata: request.metadata,
      };
      return promoCodeMessage(await createPromoCode(context, call, input), call.scope.testMode);
    },
    async getPromoCode({ id }, { scope }) {
      const promoCode = await findPromoCode(context.database, scope, id);
      if (promoCode === undefined) throw new Failure('promo_code_not_found');
      return promoCodeMessage(promoCode, scope.testMode);
    },
    async listPromoCodes({ page, code, couponId, customerId, active }, { scope }) {
      const codeKey = code === undefined ? undefined : promoCodeKey(code);
      const filter = { codeKey, couponId, customerId, active };
      const { rows, hasMore } = await listPromoCodes(context.database, scope, pageRequestOf(page), filter);
      return { promoCodes: rows.map((promoCode) => promoCodeMessage(promoCode, scope.testMode)), hasMore };
    },
    async updatePromoCode({ id, active, metadata }, call) {
      const change = { active, metadata: metadata?.entries };
      return promoCodeMessage(await updatePromoCode(context, call, id, change), call.scope.testMode);
    },
  };
}
