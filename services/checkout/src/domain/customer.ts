import type { ProcessorAccount } from '@eligo/values';
import type { Address } from './address.ts';

/** A partner's customer. */
export interface Customer {
  readonly id: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string | null;
  readonly phone: string | null;
  readonly employer: string | null;
  readonly shipping: Address | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** The test clock that the customer lives on, given at creation. */
  readonly testClockId: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly deletedAt: Date | null;
  /** The processor's customer; null until a payment method first needs one. */
  readonly processorCustomerId: string | null;
  /** Where that one is; null for one of an earlier release: where new money goes. */
  readonly processorAccount: ProcessorAccount | null;
  readonly version: bigint;
}
