import type { Address } from './address.ts';

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

export interface CardFacts {
  readonly brand: string;
  readonly country: string;
  readonly expMonth: number;
  readonly expYear: number;
  readonly funding: string;
  readonly last4: string;
  /** Whether it is a health card; null when that is not known. */
  readonly hsaFsa: boolean | null;
}

export interface BillingDetails {
  readonly name?: string;
  readonly email?: string;
  readonly phone?: string;
  readonly address?: Address;
}
