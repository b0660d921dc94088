import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { basisPoints, cents, pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

type CouponFields = NonNullable<(typeof routes.coupons.create)['body']>['schema']['_output'];

export function couponBindings({ catalog }: Peers, answers: Answers): Binding[] {
  const { list, create, get, delete: remove } = routes.coupons;
  return [
    bind(list, async (request) => {
      const page = await catalog.listCoupons({ page: pageOf(request.query) }, request.call);
      return answers.list(request, 'coupon', page.coupons, page.hasMore);
    }),
    bind(create, async (request) => {
      const { metadata = {}, duration, duration_in_months, max_redemptions } = request.body;
      const limits = given({ duration, durationInMonths: duration_in_months, maxRedemptions: max_redemptions });
      const message = { metadata, ...limits, ...reductionOf(request.body) };
      return answers.one(request, 'coupon', await catalog.createCoupon(message, request.call));
    }),
    bind(get, async (request) =>
      answers.one(request, 'coupon', await catalog.getCoupon({ id: request.id }, request.call)),
    ),
    bind(remove, async (request) =>
      answers.one(request, 'coupon', await catalog.deleteCoupon({ id: request.id }, request.call)),
    ),
  ];
}

/** What a coupon takes off, and from what. */
export function reductionOf(coupon: Pick<CouponFields, 'name' | 'amount_off' | 'percent_off' | 'applies_to'>) {
  const { applies_to: appliesTo } = coupon;
  return given({
    name: coupon.name,
    amountOffCents: cents(coupon.amount_off),
    percentOffBasisPoints: basisPoints(coupon.percent_off),
    appliesTo:
      appliesTo === undefined ? undefined : { products: appliesTo.products ?? [], prices: appliesTo.prices ?? [] },
  });
}
