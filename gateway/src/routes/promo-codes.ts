import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { namedInBody, toldAt } from '../body-references.ts';
import { metadataOf, pageOf, timeMs } from '../messages.ts';
import type { Peers } from '../peers.ts';

export function promoCodeBindings({ catalog, checkout }: Peers, answers: Answers): Binding[] {
  const { list, create, get, update } = routes.promoCodes;
  return [
    bind(list, async (request) => {
      const { query, call } = request;
      const { code, coupon, customer, active } = query;
      const filters = given({ code, couponId: coupon, customerId: customer, active });
      const page = await catalog.listPromoCodes({ page: pageOf(query), ...filters }, call);
      return answers.list(request, 'promo_code', page.promoCodes, page.hasMore);
    }),
    bind(create, async (request) => {
      const { coupon_id, coupon, code, customer, max_redemptions, expires_at, active, metadata = {} } = request.body;
      // Customers are not the catalog's, so their presence is asked of their owner.
      if (customer !== undefined) {
        const named = { code: 'customer_not_found', loc: ['promo_code', 'customer'], id: customer } as const;
        await namedInBody(checkout.getCustomer({ id: customer }, request.call), named);
      }
      const message = {
        couponId: coupon_id ?? coupon ?? '',
        code,
        metadata,
        ...given({
          customerId: customer,
          maxRedemptions: max_redemptions,
          expiresAtMs: timeMs(expires_at),
          active,
        }),
      };
      const created = catalog.createPromoCode(message, request.call);
      const named = {
        from: ['promo_code', 'coupon_id'],
        to: ['promo_code', coupon_id === undefined ? 'coupon' : 'coupon_id'],
      };
      return answers.one(request, 'promo_code', await toldAt(created, named));
    }),
    bind(get, async (request) =>
      answers.one(request, 'promo_code', await catalog.getPromoCode({ id: request.id }, request.call)),
    ),
    bind(update, async (request) => {
      const { active, metadata } = request.body;
      const message = { id: request.id, ...given({ active, metadata: metadataOf(metadata) }) };
      return answers.one(request, 'promo_code', await catalog.updatePromoCode(message, request.call));
    }),
  ];
}
