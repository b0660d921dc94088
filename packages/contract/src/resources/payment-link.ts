import type { PaymentLink } from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { type Expansion, expandable, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';
import { customTextSchema, renderCustomText } from './session-settings.ts';

export const paymentLinkSchema = z.strictObject({
  payment_link_id: idOf('payment_link'),
  url: z.string(),
  active: z.boolean(),
  mode: z.enum(['payment', 'subscription']),
  line_items: z.array(z.strictObject({ price: expandable('price'), quantity: z.int() })),
  success_url: answer.text,
  cancel_url: answer.text,
  setup_future_use: answer.text,
  shipping_options: z
    .strictObject({
      shipping_rate_id: answer.text,
      shipping_amount: answer.cents.nullable(),
      display_name: answer.text,
    })
    .nullable(),
  shipping_address_collection: z.boolean(),
  custom_text: customTextSchema.nullable(),
  metadata: answer.metadata,
  test_mode: z.boolean(),
  created_at: answer.time,
});

export const paymentLinkReferences: References<PaymentLink> = {
  price: { kind: 'price', aliases: ['product'], ids: (link) => link.terms?.lines.map((line) => line.priceId) ?? [] },
};

export function renderPaymentLink(
  link: PaymentLink,
  expansion: Expansion = noExpansion,
): z.infer<typeof paymentLinkSchema> {
  const { terms } = link;
  return {
    payment_link_id: link.paymentLinkId,
    url: link.url,
    active: link.active,
    mode: link.mode === 'subscription' ? 'subscription' : 'payment',
    line_items: (terms?.lines ?? []).map(({ priceId, quantity }) => ({
      price: expansion.of('price', priceId),
      quantity: Number(quantity),
    })),
    success_url: terms?.successUrl ?? null,
    cancel_url: terms?.cancelUrl ?? null,
    setup_future_use: terms?.setupFutureUse ?? null,
    shipping_options: renderShippingChoice(link),
    shipping_address_collection: terms?.shippingAddressCollection ?? false,
    custom_text: terms?.customText === undefined ? null : renderCustomText(terms.customText),
    metadata: link.metadata,
    test_mode: link.testMode,
    created_at: isoTime(link.createdAtMs),
  };
}

// A rate is named alone: its amount is the one that it has when a visit opens a session.
function renderShippingChoice({ terms }: PaymentLink) {
  switch (terms?.shipping.case) {
    case 'shippingRateId':
      return { shipping_rate_id: terms.shipping.value, shipping_amount: null, display_name: null };
    case 'shippingRateData': {
      const { amountCents, displayName } = terms.shipping.value;
      return { shipping_rate_id: null, shipping_amount: centsFromInt64(amountCents), display_name: displayName };
    }
    default:
      return null;
  }
}
