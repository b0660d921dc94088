import type { ProcessorAccount } from '@eligo/values';
import type { Address } from './address.ts';
import type { HsaFsa } from './card-kind.ts';

/** A card as the processor keeps it; no number of it is known here but the last four digits. */
export interface PaymentMethod {
  readonly id: string;
  readonly customerId: string | null;
  /** Where the card is; null for one of an earlier release: where new money goes. */
  readonly processorAccount: ProcessorAccount | null;
  /** The processor's payment method, or the confirmation token that becomes one when it has paid or was set up. */
  readonly processorPaymentMethodId: string;
  /** Beside a token without a customer: the customer at the processor to whom a payment will attach the card. */
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

/** What later charges of a saved card without its owner refer to, where the processor gives it: a mandate, and the network's name of the owner's own charge. */
export interface CardAgreement {
  readonly mandateId: string | undefined;
  readonly networkTransactionId: string | undefined;
}

export interface BillingDetails {
  readonly name?: string;
  readonly email?: string;
  readonly phone?: string;
  readonly address?: Address;
}

/** Whether a payment with a card keeps it for charges without the shopper: a confirmation token that names a customer. */
export function keepsCard(card: {
  readonly processorPaymentMethodId: string;
  readonly processorCustomerId: string | null;
}): boolean {
  return isConfirmationToken(card.processorPaymentMethodId) && card.processorCustomerId !== null;
}

/** Whether it stands for a card that confirms one intent, and is no payment method at the processor yet. */
export function isConfirmationToken(processorPaymentMethodId: string): boolean {
  return processorPaymentMethodId.startsWith('ctoken_');
}
