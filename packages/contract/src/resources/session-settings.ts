import type {
  CustomText,
  Defaults,
  SellingPlan,
  StorefrontPaymentDetails,
  SubscriptionData,
} from '@eligo/proto/checkout/v1/checkout';
import { z } from 'zod';
import { answer } from '../fields.ts';
import { isoTime } from '../times.ts';

const message = z.strictObject({ message: answer.text });

export const customTextSchema = z.strictObject({
  after_submit: message,
  shipping_address: message,
  submit: message,
  terms_of_service_acceptance: message,
  payment: message,
  terms_of_service_checkbox_required: z.boolean().nullable(),
});

export const defaultsSchema = z.strictObject({
  customer_id: answer.text,
  email: answer.text,
  first_name: answer.text,
  last_name: answer.text,
  phone: answer.text,
});

export const subscriptionDataSchema = z.strictObject({
  cancel_at: answer.time.nullable(),
  trial_end: answer.time.nullable(),
  cancel_at_period_end: z.boolean().nullable(),
  trial_period_days: z.int().nullable(),
  trial_settings: z.strictObject({ end_behavior: z.strictObject({ missing_payment_method: z.string() }) }).nullable(),
});

export const sellingPlanSchema = z.strictObject({
  id: answer.text,
  name: answer.text,
  billing_interval: z.strictObject({ interval: answer.text, interval_count: z.int().nullable() }),
});

export const storefrontPaymentDetailsSchema = z.strictObject({
  gateway: answer.text,
  wallet: answer.text,
  card: z.strictObject({ brand: answer.text, last4: answer.text }),
});

export function renderCustomText(text: CustomText): z.infer<typeof customTextSchema> {
  return {
    after_submit: { message: text.afterSubmitMessage ?? null },
    shipping_address: { message: text.shippingAddressMessage ?? null },
    submit: { message: text.submitMessage ?? null },
    terms_of_service_acceptance: { message: text.termsOfServiceAcceptanceMessage ?? null },
    payment: { message: text.paymentMessage ?? null },
    terms_of_service_checkbox_required: text.termsOfServiceCheckboxRequired ?? null,
  };
}

export function renderDefaults(defaults: Defaults): z.infer<typeof defaultsSchema> {
  return {
    customer_id: defaults.customerId ?? null,
    email: defaults.email ?? null,
    first_name: defaults.firstName ?? null,
    last_name: defaults.lastName ?? null,
    phone: defaults.phone ?? null,
  };
}

export function renderSubscriptionData(data: SubscriptionData): z.infer<typeof subscriptionDataSchema> {
  return {
    cancel_at: data.cancelAtMs === undefined ? null : isoTime(data.cancelAtMs),
    trial_end: data.trialEndMs === undefined ? null : isoTime(data.trialEndMs),
    cancel_at_period_end: data.cancelAtPeriodEnd ?? null,
    trial_period_days: data.trialPeriodDays ?? null,
    trial_settings:
      data.missingPaymentMethod === undefined
        ? null
        : { end_behavior: { missing_payment_method: data.missingPaymentMethod } },
  };
}

export function renderSellingPlan(plan: SellingPlan): z.infer<typeof sellingPlanSchema> {
  return {
    id: plan.id ?? null,
    name: plan.name ?? null,
    billing_interval: { interval: plan.interval ?? null, interval_count: plan.intervalCount ?? null },
  };
}

export function renderStorefrontPaymentDetails(
  details: StorefrontPaymentDetails,
): z.infer<typeof storefrontPaymentDetailsSchema> {
  return {
    gateway: details.gateway ?? null,
    wallet: details.wallet ?? null,
    card: { brand: details.cardBrand ?? null, last4: details.cardLast4 ?? null },
  };
}
