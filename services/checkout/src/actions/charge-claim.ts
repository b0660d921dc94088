import { Failure } from '@eligo/failures';
import type { Expecting, KeyUse, StoredAnswer } from '@eligo/postgres';
import type { ProcessorAccount } from '@eligo/values';
import type { ChargeAttempt, ProcessorVerdict } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import type { PaymentPlan } from '../store/payment-plans.ts';
import type { PaymentTurn } from './payment-turn.ts';

/** A request to charge the eligible part of a session. */
export interface ConfirmRequest {
  readonly sessionId: string;
  readonly paymentMethodId: string | null;
  readonly captureMethod: string | null;
  readonly expand: readonly string[];
  readonly features: readonly string[];
  /** True where the account may charge no health cards. */
  readonly refusesHealthCards?: boolean;
  /** The account has health cards approved for a part. */
  readonly acceptsPart?: boolean;
  readonly key: string;
  readonly requestHash: Buffer;
}

/** A confirm whose turn has come. */
export interface ChargeClaim {
  readonly request: ConfirmRequest;
  readonly use: KeyUse;
  readonly turn: PaymentTurn;
  /** Where new money goes. */
  readonly ofNewMoney: ProcessorAccount;
}

/** What is asked for is under way elsewhere: the same request is to come again. */
export const contended = () => new Failure('lock_timeout', { retryAfterSeconds: 1 });

/** Thrown, with nothing written, for a confirm that a payment plan carries out: `confirmInParts` claims it. */
export class NeedsPlan extends Error {}

/** What a claim ended in: an answer, or an attempt that the request now drives. */
export type Claimed =
  | { readonly kind: 'answer'; readonly answer: StoredAnswer; readonly replayed: boolean }
  | {
      readonly kind: 'attempt';
      readonly attempt: ChargeAttempt;
      readonly epoch: number;
      /** Undefined for an attempt that an earlier request began. */
      readonly claimed?: ClaimedCharge;
    };

/** A claim with its request's context, in which its events are encoded. */
export interface GroupedClaim extends ChargeClaim {
  readonly inContext: <Result>(work: () => Result) => Result;
}

/** What the claim of a charge has read and written: the session as it was under its lock, and the intent of its attempt. */
export interface ClaimedCharge {
  readonly session: Session;
  readonly intent: PaymentIntent;
  /** Of a payment on the page that this charge completes: its plan. */
  readonly plan?: PaymentPlan;
  /** How a success is settled that is followed by more; undefined, with nothing written, where it must be settled from the rows. */
  settle?(
    attempt: ChargeAttempt,
    verdict: Extract<ProcessorVerdict, { kind: 'succeeded' }>,
  ): Promise<{ attempt: ChargeAttempt; intent: PaymentIntent; session: Session } | undefined>;
  /** Where `settle` writes it together with others. */
  readonly settlements?: Expecting;
}

/** What the claim of an invoice's charge has written. */
export interface ClaimedInvoiceCharge {
  readonly session?: undefined;
  readonly intent: PaymentIntent;
}
