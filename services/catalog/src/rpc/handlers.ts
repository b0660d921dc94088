import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { type Handlers, implement } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { cartHandlers } from './carts.ts';
import { componentHandlers } from './components.ts';
import { couponHandlers } from './coupons.ts';
import { eligibilityHandlers } from './eligibility.ts';
import { priceHandlers } from './prices.ts';
import { productHandlers } from './products.ts';
import { promoCodeHandlers } from './promo-codes.ts';
import { shippingRateHandlers } from './shipping-rates.ts';

/** Every method of the catalog. */
export function catalogHandlers(context: Context): Handlers {
  return [
    implement(CatalogService, {
      ...shippingRateHandlers(context),
      ...componentHandlers(context),
      ...productHandlers(context),
      ...priceHandlers(context),
      ...couponHandlers(context),
      ...promoCodeHandlers(context),
      ...cartHandlers(context),
      ...eligibilityHandlers(context),
    }),
  ];
}
