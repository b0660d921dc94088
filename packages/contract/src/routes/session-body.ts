import { z } from 'zod';
import {
  address,
  amount,
  count,
  eligibilityClass,
  email,
  metadata,
  quantity,
  recurring,
  reference,
  requiredText,
  text,
  time,
  url,
} from '../fields.ts';
import { limits } from '../limits.ts';
import { sessionModes } from '../resources/checkout-session.ts';
import { hasOneReduction, oneReduction, reduction } from './coupons.ts';
import { productData } from './products.ts';

const shortText = text(limits.shortTextLength);

const priceData = z
  .object({
    product: reference('product').optional(),
    product_data: productData.optional(),
    unit_amount: amount,
    recurring: recurring.optional(),
    hsa_fsa_eligibility: eligibilityClass.optional(),
  })
  .refine((price) => (price.product === undefined) !== (price.product_data === undefined), {
    path: ['product'],
    error: 'Supply either product or product_data',
    params: { type: 'one_of_required' },
  });

const line = z
  .object({
    price: reference('price').optional(),
    product: reference('product').optional(),
    price_data: priceData.optional(),
    quantity: quantity.optional(),
  })
  .refine((given) => given.price !== undefined || given.price_data !== undefined || given.product !== undefined, {
    error: 'Supply price, price_data or product',
    params: { type: 'one_of_required' },
  });

const discount = z
  .object({
    coupon_id: reference('coupon').optional(),
    coupon: reference('coupon').optional(),
    promo_code_id: reference('promo_code').optional(),
    promo_code: requiredText(limits.shortTextLength).optional(),
    coupon_data: z.object(reduction).refine(hasOneReduction, oneReduction).optional(),
  })
  .refine((given) => Object.values(given).some((value) => value !== undefined), {
    error: 'Supply coupon_id, promo_code_id, promo_code or coupon_data',
    params: { type: 'one_of_required' },
  });

const message = z.object({ message: text().optional() }).optional();

export const customText = z.object({
  after_submit: message,
  shipping_address: message,
  submit: message,
  terms_of_service_acceptance: message,
  payment: message,
  terms_of_service_checkbox_required: z.boolean().optional(),
});

export const shippingOptions = z.object({
  shipping_rate_id: reference('shipping_rate').optional(),
  shipping_rate_data: z.object({ display_name: requiredText(limits.shortTextLength), amount }).optional(),
});

export const setupFutureUse = z.enum(['on_session', 'off_session']);

export const storefrontPaymentDetails = z.object({
  gateway: shortText.optional(),
  wallet: shortText.optional(),
  card: z.object({ brand: shortText.optional(), last4: text(4).optional() }).optional(),
});

/** What creates a session (decisions 5). */
export const sessionCreation = z.object({
  line_items: z.array(line).max(limits.lineItems).optional(),
  mode: z.enum(sessionModes).optional(),
  success_url: url.optional(),
  cancel_url: url.optional(),
  customer: reference('customer').optional(),
  customer_email: email.optional(),
  client_reference_id: shortText.optional(),
  defaults: z
    .object({
      customer_id: reference('customer').optional(),
      email: email.optional(),
      first_name: shortText.optional(),
      last_name: shortText.optional(),
      phone: text(100).optional(),
    })
    .meta({ emptyIsAbsent: true })
    .optional(),
  shipping_options: shippingOptions.optional(),
  shipping_details: address.optional(),
  tax_rate: z.object({ amount: amount.optional() }).optional(),
  discounts: z.array(discount).max(limits.discounts).optional(),
  fees: z
    .array(
      z.object({
        amount,
        name: shortText.optional(),
        description: text().optional(),
        fee_type: shortText.optional(),
      }),
    )
    .max(limits.fees)
    .optional(),
  payment_method: reference('payment_method').optional(),
  setup_future_use: setupFutureUse.optional(),
  subscription_data: z
    .object({
      cancel_at: time.optional(),
      trial_end: time.optional(),
      cancel_at_period_end: z.boolean().optional(),
      trial_period_days: z.int().min(0).max(3_650).optional(),
      trial_settings: z
        .object({
          end_behavior: z
            .object({ missing_payment_method: z.enum(['cancel', 'pause', 'create_invoice']).optional() })
            .optional(),
        })
        .optional(),
    })
    .optional(),
  allow_promotion_codes: z.boolean().optional(),
  capture_method: z.enum(['automatic', 'manual']).optional(),
  payment_method_options: z
    .object({
      card: z.object({ request_three_d_secure: z.enum(['automatic', 'any', 'challenge']).optional() }).optional(),
    })
    .optional(),
  custom_text: customText.optional(),
  shipping_address_collection: z.boolean().optional(),
  selling_plans: z
    .array(
      z.object({
        id: z.union([shortText, z.int()], { error: 'Must be a string or a whole number' }).optional(),
        name: shortText.optional(),
        billing_interval: z
          .object({ interval: text(40).optional(), interval_count: count(1_000).optional() })
          .optional(),
      }),
    )
    .max(limits.lineItems)
    .optional(),
  expires_at: time.optional(),
  metadata: metadata.optional(),
  origin: text(limits.urlLength).optional(),
  shopify_payment_details: storefrontPaymentDetails.optional(),
});

/** What a session's POST may still change. */
export const sessionChange = z.object({
  metadata: metadata.optional(),
  client_reference_id: shortText.optional(),
  shopify_payment_details: storefrontPaymentDetails.optional(),
});
