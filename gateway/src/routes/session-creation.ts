import type { routes } from '@eligo/contract';
import { given, isId } from '@eligo/values';
import { cents, intervalOf, textOf, timeMs } from '../messages.ts';
import { reductionOf } from './coupons.ts';
import { addressOf } from './customers.ts';
import { ownerOf, recurringOf } from './prices.ts';

type Creation = NonNullable<(typeof routes.checkoutSessions.create)['body']>['schema']['_output'];
type Line = NonNullable<Creation['line_items']>[number];
type PriceData = NonNullable<Line['price_data']>;
type Discount = NonNullable<Creation['discounts']>[number];
type StorefrontDetails = NonNullable<Creation['shopify_payment_details']>;

/** The message that creates a session. `originHeader` stands in for a field that is not given (decisions 4). */
export function sessionCreationOf(body: Creation, originHeader: string | undefined) {
  return {
    mode: body.mode ?? 'payment',
    lines: (body.line_items ?? []).map(lineOf),
    shipping: shippingOf(body.shipping_options),
    discounts: (body.discounts ?? []).map(discountOf),
    fees: (body.fees ?? []).map(({ amount, name, description, fee_type }) => ({
      amountCents: cents(amount),
      ...given({ name, description, feeType: fee_type }),
    })),
    allowPromotionCodes: body.allow_promotion_codes ?? false,
    shippingAddressCollection: body.shipping_address_collection ?? false,
    sellingPlans: (body.selling_plans ?? []).map(sellingPlanOf),
    metadata: body.metadata ?? {},
    ...given({
      successUrl: body.success_url,
      cancelUrl: body.cancel_url,
      customerId: body.customer,
      customerEmail: textOf(body.customer_email),
      clientReferenceId: body.client_reference_id,
      defaults: body.defaults === undefined ? undefined : defaultsOf(body.defaults),
      taxAmountCents: cents(body.tax_rate?.amount),
      paymentMethodId: body.payment_method,
      setupFutureUse: body.setup_future_use,
      subscriptionData: body.subscription_data === undefined ? undefined : subscriptionDataOf(body.subscription_data),
      captureMethod: body.capture_method,
      requestThreeDSecure: body.payment_method_options?.card?.request_three_d_secure,
      customText: body.custom_text === undefined ? undefined : customTextOf(body.custom_text),
      expiresAtMs: timeMs(body.expires_at),
      origin: body.origin ?? originOf(originHeader),
      storefrontPaymentDetails:
        body.shopify_payment_details === undefined ? undefined : storefrontDetailsOf(body.shopify_payment_details),
      shippingDetails: body.shipping_details === undefined ? undefined : addressOf(body.shipping_details),
    }),
  };
}

/** What a storefront says of a payment that it took itself. */
export function storefrontDetailsOf(details: StorefrontDetails) {
  return given({
    gateway: details.gateway,
    wallet: details.wallet,
    cardBrand: details.card?.brand,
    cardLast4: details.card?.last4,
  });
}

function lineOf(line: Line) {
  return { item: itemOf(line), quantity: BigInt(line.quantity ?? 1) };
}

function itemOf({ price, price_data, product }: Line) {
  if (price !== undefined) return { case: 'priceId' as const, value: price };
  if (price_data !== undefined) return { case: 'priceData' as const, value: priceDataOf(price_data) };
  return { case: 'productId' as const, value: product ?? '' };
}

function priceDataOf(data: PriceData) {
  return {
    owner: ownerOf(data),
    unitAmountCents: cents(data.unit_amount),
    ...given({
      recurring: data.recurring === undefined ? undefined : recurringOf(data.recurring),
      hsaFsaEligibility: data.hsa_fsa_eligibility,
    }),
  };
}

/** One of the catalog's shipping rates, or an amount of its own. */
export function shippingOf(options: Creation['shipping_options']) {
  if (options?.shipping_rate_id !== undefined) {
    return { case: 'shippingRateId' as const, value: options.shipping_rate_id };
  }
  const data = options?.shipping_rate_data;
  if (data === undefined) return { case: undefined };
  const value = { displayName: data.display_name, amountCents: cents(data.amount) };
  return { case: 'shippingRateData' as const, value };
}

function discountOf(discount: Discount) {
  const { promo_code: code, coupon_data: data } = discount;
  const couponId = discount.coupon_id ?? discount.coupon;
  const promoCodeId = discount.promo_code_id ?? (code !== undefined && isId('promo_code', code) ? code : undefined);
  if (couponId !== undefined) return { source: { case: 'couponId' as const, value: couponId } };
  if (promoCodeId !== undefined) return { source: { case: 'promoCodeId' as const, value: promoCodeId } };
  if (code !== undefined) return { source: { case: 'promoCode' as const, value: code } };
  return { source: { case: 'couponData' as const, value: data === undefined ? {} : reductionOf(data) } };
}

function defaultsOf(defaults: NonNullable<Creation['defaults']>) {
  return given({
    customerId: defaults.customer_id,
    email: defaults.email,
    firstName: defaults.first_name,
    lastName: defaults.last_name,
    phone: defaults.phone,
  });
}

function subscriptionDataOf(data: NonNullable<Creation['subscription_data']>) {
  return given({
    cancelAtMs: timeMs(data.cancel_at),
    trialEndMs: timeMs(data.trial_end),
    cancelAtPeriodEnd: data.cancel_at_period_end,
    trialPeriodDays: data.trial_period_days,
    missingPaymentMethod: data.trial_settings?.end_behavior?.missing_payment_method,
  });
}

/** Texts that the checkout page shows. */
export function customTextOf(text: NonNullable<Creation['custom_text']>) {
  return given({
    afterSubmitMessage: text.after_submit?.message,
    shippingAddressMessage: text.shipping_address?.message,
    submitMessage: text.submit?.message,
    termsOfServiceAcceptanceMessage: text.terms_of_service_acceptance?.message,
    paymentMessage: text.payment?.message,
    termsOfServiceCheckboxRequired: text.terms_of_service_checkbox_required,
  });
}

function sellingPlanOf({ id, name, billing_interval }: NonNullable<Creation['selling_plans']>[number]) {
  const interval = billing_interval?.interval;
  return given({
    id: id === undefined ? undefined : String(id),
    name,
    interval: interval === undefined ? undefined : intervalOf(interval),
    intervalCount: billing_interval?.interval_count,
  });
}

// Browsers send `null` for an opaque origin, which says nothing.
function originOf(header: string | undefined): string | undefined {
  return header !== undefined && header.length <= 500 && /^https?:\/\/[\x21-\x7e]+$/.test(header) ? header : undefined;
}
