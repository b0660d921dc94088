import { type JsonObject, limits } from '@eligo/contract';

/** In a text it stands for what is another in each request, and is as long. */
export const uniqueMark = '@'.repeat(36);

/** As long a text. It is looked through for card numbers from each of its groups on, and has none: no issuer's numbers begin with 1. */
export function text(length: number): string {
  return '1234 '.repeat(Math.ceil(length / 5)).slice(0, length);
}

/** As long a text, which is another in each request. */
export function unique(length: number): string {
  return uniqueMark + text(length - uniqueMark.length);
}

/** So many values. */
export function many<Value>(count: number, make: (at: number) => Value): Value[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

/** The values of a list, by turns. */
export function turn(values: readonly string[], at: number): string {
  return values[at % values.length] ?? '';
}

/** So many of a list, by turns. */
export function repeated(values: readonly string[], count: number): string[] {
  return many(count, (at) => turn(values, at));
}

export const shortText = text(limits.shortTextLength);

export const metadata: JsonObject = metadataOf(limits.metadataKeys, limits.metadataValueLength);

function metadataOf(keys: number, length: number): JsonObject {
  return Object.fromEntries(
    many(keys, (at) => [`k${at}`.padEnd(limits.metadataKeyLength, 'k'), text(length)] as const),
  );
}

export function url(length: number = limits.urlLength): string {
  return 'https://shop.example/'.padEnd(length, 'p');
}

export const address: JsonObject = {
  ...{ line1: shortText, line2: shortText, city: shortText, state: shortText },
  ...{ postal_code: text(40), country: shortText },
};

/** The texts of a page, each of them so long. */
export function customText(length: number): JsonObject {
  const message = { message: text(length) };
  return {
    ...{ after_submit: message, shipping_address: message, submit: message, payment: message },
    ...{ terms_of_service_acceptance: message, terms_of_service_checkbox_required: true },
  };
}

/** A product of 0.4 MB. */
export function product(components: readonly string[]): JsonObject {
  return {
    ...{ name: text(limits.textLength), description: text(limits.textLength), url: url() },
    ...{ upc_code: text(100), gtin: text(100), reference_gtin: text(100), client_reference_id: shortText },
    ...{ image_urls: many(100, () => url()), categories: many(100, () => shortText) },
    ...{ components: repeated(components, 100), visit_type: shortText, metadata },
    hsa_fsa_eligibility: 'auto_substantiation',
  };
}

/** What changes of a price. */
export const price: JsonObject = { description: text(limits.textLength), metadata, active: true };

/** What changes of a component. */
export const component: JsonObject = {
  ...{ category: shortText, canonical_food_key: shortText, metadata, vegan: true, gluten_free: true },
  ...{ nutrition_basis: 'as_served', serving_size_g: 100 },
  nutrition: Object.fromEntries(
    [
      ...['calories', 'total_fat_g', 'saturated_fat_g', 'trans_fat_g', 'carbohydrate_g'],
      ...['fiber_g', 'protein_g', 'sodium_mg', 'added_sugar_g'],
    ].map((nutrient) => [nutrient, 1]),
  ),
};

export const customer: JsonObject = {
  ...{ first_name: shortText, last_name: shortText, employer: shortText, phone: text(100) },
  ...{ email: 'ada@example.com', shipping: address, metadata },
};

/** A cart of a hundred lines and five hundred coupons for some of them, with a hundred fees: 0.9 MB. */
export function couponCart(prices: readonly string[], customerId: string): JsonObject {
  return {
    ...session,
    customer: customerId,
    line_items: prices.map((one) => ({ price: one, quantity: 1 })),
    discounts: many(limits.discounts, (at) => ({
      coupon_data: {
        ...{ name: text(400), amount_off: 1 },
        applies_to: { prices: many(20, (place) => turn(prices, at + place)) },
      },
    })),
  };
}

/** A cart of a hundred products that are made with it: 0.9 MB. */
export function inlineCart(customerId: string): JsonObject {
  const inline = {
    ...{ name: text(1_500), description: text(1_500), hsa_fsa_eligibility: 'auto_substantiation' },
    ...{ image_urls: [url(1_000), url(1_000)], categories: many(2, () => shortText) },
  };
  return {
    ...session,
    customer: customerId,
    line_items: many(limits.lineItems, () => ({
      price_data: { unit_amount: 1_000, product_data: { ...inline, name: unique(1_500) } },
      quantity: 1,
    })),
  };
}

const session: JsonObject = {
  ...{ success_url: url(), cancel_url: url(), client_reference_id: shortText, metadata },
  ...{ shipping_details: address, tax_rate: { amount: 1_000 }, custom_text: customText(2_000) },
  fees: many(limits.fees, () => ({ amount: 1, name: text(400), description: text(400), fee_type: text(100) })),
  selling_plans: many(limits.lineItems, (at) => ({ id: `plan-${at}`, name: text(400) })),
};

/** The texts of a dispute's evidence: as many characters as all may have together. */
export function evidenceOf(fields: readonly string[]): JsonObject {
  const length = Math.floor(limits.evidenceLength / fields.length);
  return Object.fromEntries(fields.map((field) => [field, text(length)]));
}
