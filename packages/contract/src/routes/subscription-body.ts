import { z } from 'zod';
import { metadata, quantity, reference, requiredText, time } from '../fields.ts';
import { limits } from '../limits.ts';

const prorationBehavior = z.enum(['always_invoice', 'create_prorations', 'none']);

const trialSettings = z.object({
  end_behavior: z
    .object({ missing_payment_method: z.enum(['cancel', 'pause', 'create_invoice']).optional() })
    .optional(),
});

const discount = {
  coupon: reference('coupon').optional(),
  promo_code: requiredText(limits.shortTextLength).optional(),
};

function hasOneDiscount(given: { coupon?: string | undefined; promo_code?: string | undefined }): boolean {
  return given.coupon === undefined || given.promo_code === undefined;
}

const oneDiscount = {
  path: ['promo_code'],
  error: 'Supply either coupon or promo_code',
  params: { type: 'one_of_required' },
};

const newItems = z
  .array(z.object({ price: reference('price'), quantity: quantity.optional() }))
  .min(1)
  .max(limits.subscriptionItems)
  .refine((items) => new Set(items.map(({ price }) => price)).size === items.length, {
    error: 'Each price may be listed once',
    params: { type: 'value_error' },
  });

/** What changes a subscription. What is absent stays; `clear` resets. */
export const subscriptionChange = z
  .object({
    items: newItems.optional(),
    cancel_at_period_end: z.boolean().optional(),
    cancel_at: time.optional(),
    trial_end: z.union([z.literal('now'), time]).optional(),
    default_payment_method: reference('payment_method').optional(),
    backup_payment_method: reference('payment_method').optional(),
    proration_behavior: prorationBehavior.optional(),
    ...discount,
    metadata: metadata.optional(),
    clear: z
      .array(z.enum(['cancel_at', 'coupon', 'default_payment_method', 'backup_payment_method']))
      .max(10)
      .optional(),
  })
  .refine(hasOneDiscount, oneDiscount);

/** How a paused subscription goes on. */
export const subscriptionResumption = z.object({ billing_cycle_anchor: z.enum(['now', 'unchanged']).optional() });

/** What creates a subscription (decisions 5). */
export const subscriptionCreation = z
  .object({
    customer: reference('customer'),
    items: newItems,
    default_payment_method: reference('payment_method').optional(),
    backup_payment_method: reference('payment_method').optional(),
    trial_end: time.optional(),
    trial_period_days: z.int().min(0).max(3_650).optional(),
    trial_settings: trialSettings.optional(),
    cancel_at: time.optional(),
    cancel_at_period_end: z.boolean().optional(),
    proration_behavior: prorationBehavior.optional(),
    ...discount,
    metadata: metadata.optional(),
  })
  .refine(hasOneDiscount, oneDiscount);
