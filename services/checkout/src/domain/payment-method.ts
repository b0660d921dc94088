import type { Address } from './address.ts';
import type { HsaFsa } from './card-kind.ts';

/** A card as the processor keeps it; no number of it is known here but the last four digits. */
export interface PaymentMethod {
  readonly id: string;
  readonly customerId: string | null;
  readonly processorPaymentMethodId: string;
  readonly processorCustomerId: string | null;
  readonly offSession: boolean;
  readonly card: CardFacts;
  readonly billingDetails: BillingDetails;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  /** Set once it was taken from its customer: it cannot be used any more. */
  readonly detachedAt: Date | null;
  readonly version: bigint;
}

export type CardFacts = HsaFsa & {
  readonly brand: string;
  readonly country: string;
  readonly expMonth: number;
  readonly expYear: number;
  readonly funding: string;
  readonly last4: string;
};

export interface BillingDetails {
  readonly name?: string;
  readonly email?: string;
  readonly phone?: string;
  readonly address?: Address;
}
