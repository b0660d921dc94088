import type { Metadata } from './field-rules.ts';

/** What shipping costs. */
export interface ShippingRate {
  readonly shippingRateId: string;
  readonly active: boolean;
  readonly displayName: string;
  readonly amountCents: bigint;
  readonly metadata: Metadata;
  readonly createdAt: Date;
}
