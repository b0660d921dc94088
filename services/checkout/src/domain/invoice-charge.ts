import type { Cents } from '@eligo/values';
import type { HealthcareCents, Leg } from './charge-attempt.ts';

/** What billing asks to be charged, once per operation id. */
export interface InvoiceCharge {
  readonly operationId: string;
  readonly invoiceId: string;
  readonly subscriptionId: string | null;
  readonly customerId: string;
  readonly paymentMethodId: string;
  readonly amountCents: Cents;
  readonly leg: Leg;
  /** What of the amount is for health care. */
  readonly healthcare?: HealthcareCents;
  /** The customer pays on the invoice's page, and is there to authenticate. */
  readonly onPage?: boolean;
  /** The first payment of a subscription: its customer can authenticate, on the partner's own page, for a day. */
  readonly withCustomer?: boolean;
  readonly at: Date;
}
