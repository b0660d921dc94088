import { create, fromJson, type JsonValue } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import {
  type PaymentLink,
  PaymentLinkSchema,
  type PaymentLinkTerms,
  PaymentLinkTermsSchema,
} from '@eligo/proto/checkout/v1/checkout';
import type * as domain from '../domain/payment-link.ts';

/** The message of a payment link. `url` is where its visitors go. */
export function paymentLinkMessage(scope: Scope, link: domain.PaymentLink, url: string): PaymentLink {
  return create(PaymentLinkSchema, {
    paymentLinkId: link.id,
    active: link.active,
    mode: link.mode,
    terms: paymentLinkTerms(link),
    metadata: { ...link.metadata },
    testMode: scope.testMode,
    createdAtMs: BigInt(link.createdAt.getTime()),
    url,
  });
}

/** The terms of a link as its row stores them. */
export function paymentLinkTerms(link: domain.PaymentLink): PaymentLinkTerms {
  return fromJson(PaymentLinkTermsSchema, link.terms as JsonValue, { ignoreUnknownFields: true });
}
