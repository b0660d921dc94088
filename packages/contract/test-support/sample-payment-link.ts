import { create } from '@bufbuild/protobuf';
import { PaymentLinkSchema } from '@eligo/proto/checkout/v1/checkout';
import { newId } from '@eligo/values';

/** A payment link with every field. */
export function samplePaymentLink(createdAtMs: bigint) {
  return create(PaymentLinkSchema, {
    paymentLinkId: newId('payment_link'),
    active: true,
    mode: 'payment',
    terms: {
      lines: [{ priceId: newId('price'), quantity: 2n }],
      successUrl: 'https://shop.example/ok',
      shipping: { case: 'shippingRateData', value: { displayName: 'Ground', amountCents: 500n } },
      setupFutureUse: 'off_session',
      shippingAddressCollection: true,
      customText: { submitMessage: 'Thank you' },
    },
    metadata: { campaign: 'spring' },
    testMode: true,
    createdAtMs,
    url: 'https://pay.example/buy/token',
  });
}
