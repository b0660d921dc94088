import { type Cents, cents, type ProcessorAccount, stateTable } from '@eligo/values';
import type { CardKind } from './card-kind.ts';
import type { CardAgreement } from './payment-method.ts';

/** The state of an attempt to charge a card. `unknown` is a state of its own: it is not known whether the card was charged. */
export type AttemptStatus =
  | 'created'
  | 'sending'
  | 'unknown'
  | 'succeeded'
  | 'declined'
  | 'failed'
  | 'abandoned'
  | 'released';

export type Leg = 'health' | 'other';

/**
 * What an attempt is for: a session, an invoice, or a hold that is taken again while a letter is in review. Such a `renewal` becomes its session's attempt once
 * it holds the card, and the attempt before it is `renewed`: only to be voided.
 */
export type AttemptPurpose = 'session' | 'invoice' | 'renewal' | 'renewed';

/** Who settles what follows a success: the confirm call, the checkout page's plan, or billing's operation. */
export type AttemptDriver = 'confirm' | 'page' | 'invoice';

/** What of an amount is for health care, in disjoint buckets (decisions 4). */
export interface HealthcareCents {
  readonly iiasCents: Cents;
  readonly prescriptionCents: Cents;
  readonly visionCents: Cents;
  readonly serviceCents: Cents;
}

export const noHealthcare: HealthcareCents = {
  iiasCents: cents(0),
  prescriptionCents: cents(0),
  visionCents: cents(0),
  serviceCents: cents(0),
};

/** What an attempt tells the processor about health care: the buckets, and in `medicalCents` also what needs a letter. */
export type HealthcareOfTender = HealthcareCents & { readonly medicalCents: Cents };

/** What of an attempt's tender is for health care; undefined where the card is known to be no health card, which needs none of it. */
export function healthcareOfTender(
  attempt: Pick<ChargeAttempt, 'leg' | 'cardKind' | 'amountCents' | 'healthcare'>,
): HealthcareOfTender | undefined {
  const { leg, cardKind, amountCents, healthcare } = attempt;
  if (leg !== 'health' || cardKind === 'other') return undefined;
  const { iiasCents, prescriptionCents, visionCents, serviceCents } = healthcare;
  const bucketsCents = cents(iiasCents + prescriptionCents + visionCents + serviceCents);
  // The health leg pays what is eligible, and nothing else. An attempt of an earlier release goes on with what that release sent.
  return { ...healthcare, medicalCents: cardKind === null ? bucketsCents : amountCents };
}

export type ThreeDSecure = 'automatic' | 'any' | 'challenge';

export interface ChargeAttempt {
  readonly id: string;
  readonly purpose: AttemptPurpose;
  readonly subjectId: string;
  readonly leg: Leg;
  readonly driver: AttemptDriver;
  readonly eligibilityRecordId: string | null;
  readonly paymentIntentId: string;
  readonly customerId: string | null;
  readonly paymentMethodId: string;
  /** Where it charges; null for an attempt of an earlier release: where new money goes. */
  readonly processorAccount: ProcessorAccount | null;
  readonly processorPaymentMethodId: string;
  readonly processorCustomerId: string | null;
  readonly offSession: boolean;
  readonly captureMethod: 'automatic' | 'manual';
  /** How the shopper is asked to authenticate; null where nobody is there, or the session asks for nothing. */
  readonly threeDSecure: ThreeDSecure | null;
  /** What the card is asked for; once it was approved for a part, that part. */
  readonly amountCents: Cents;
  readonly healthcare: HealthcareCents;
  /** The card may be approved for a part. */
  readonly acceptsPart?: boolean;
  /** What the card was asked for, where it was approved for a part. */
  readonly askedCents?: Cents | null;
  /** What the card was taken for when the attempt was made; null for an attempt of an earlier release. */
  readonly cardKind: CardKind | null;
  readonly status: AttemptStatus;
  readonly epoch: number;
  readonly sends: number;
  readonly checks: number;
  readonly processorIntentId: string | null;
  readonly failureCode: string | null;
  readonly declineCode: string | null;
  /** Records that the request asked to be kept with its answer, so that a replay gives the same bytes. */
  readonly expand: readonly string[];
  readonly actingAt: Date;
  readonly createdAt: Date;
  /** By database time: no process is working on it, or the one that was has lost its claim. */
  readonly leaseDead: boolean;
  /** By database time: it may not be confirmed any more, only canceled. */
  readonly confirmOver: boolean;
  /** The bank was told to wait for its customer until then; null for all but first payments of subscriptions. */
  readonly authenticateUntil?: Date | null;
  /** By database time: that time is not over. */
  readonly awaitsCustomer?: boolean;
  /** Billing's name for the charge, which may take several attempts; null but for invoices. */
  readonly operationId: string | null;
  /** The mandate of a card that is charged without its owner, as it was when the charge was sent. */
  readonly mandateId?: string | null;
}

/**
 * The moves of an attempt; a trigger on the table allows no others. A terminal state never changes, except that a hold may be voided. A sent attempt is abandoned
 * only when its time to confirm is over and its intent is canceled at the processor.
 */
export const attemptStates = stateTable<AttemptStatus>({
  created: ['sending', 'abandoned', 'declined', 'failed'],
  sending: ['succeeded', 'declined', 'failed', 'unknown', 'abandoned'],
  unknown: ['sending', 'succeeded', 'declined', 'failed', 'abandoned'],
  succeeded: ['released'],
  declined: [],
  failed: [],
  abandoned: [],
  released: [],
});

/** The failure code of an attempt that was canceled because its time to confirm was over. */
export const canceledLate = 'canceled_late';

/** What the processor said of an attempt, once it is certain. */
export type ProcessorVerdict =
  | {
      readonly kind: 'succeeded';
      readonly chargeId: string;
      readonly capturable: boolean;
      /** Until when a hold can be captured, if the processor said so. */
      readonly captureBefore?: Date | undefined;
      /** What is held, where that is less than was asked for. */
      readonly partCents?: Cents | undefined;
      /** The processor's payment method, which a confirmation token has become. */
      readonly paymentMethodId?: string | undefined;
      /** What later charges of a card that this one keeps refer to. */
      readonly agreement?: CardAgreement | undefined;
    }
  | {
      readonly kind: 'declined';
      readonly code: string;
      readonly declineCode: string | undefined;
      readonly chargeId: string | undefined;
    }
  | { readonly kind: 'failed'; readonly code: string };

/** The outcome of a charge whose authentication the shopper gave up. */
export const declinedByShopper = {
  kind: 'declined',
  code: 'authentication_required',
  declineCode: 'authentication_required',
  chargeId: undefined,
} as const satisfies ProcessorVerdict;

export type RefusalVerdict = Exclude<ProcessorVerdict, { kind: 'succeeded' }>;

/** What an attempt is settled as. */
export interface Settlement {
  readonly status: ProcessorVerdict['kind'];
  readonly failureCode: string | null;
  readonly declineCode: string | null;
}

export function settlementOf(verdict: ProcessorVerdict): Settlement {
  return {
    status: verdict.kind,
    failureCode: verdict.kind === 'succeeded' ? null : verdict.code,
    declineCode: verdict.kind === 'declined' ? (verdict.declineCode ?? null) : null,
  };
}

/**
 * How long after its n-th inconclusive check an attempt is checked again: 1, 2, 4 and 8 s, each ten seconds until it is three minutes old, each minute for a
 * quarter of an hour, then each five minutes. While a shopper may still wait, the outcome of an attempt that an outage has left is known within ten
 * seconds of its end. A longer outage the checks themselves show to be one (the breaker opens at the twelfth failure), and then none is counted.
 */
export function nextCheckDelayMs(checks: number): number {
  return checkDelaysMs[checks] ?? 300_000;
}

const checkDelaysMs = [
  1_000,
  2_000,
  4_000,
  8_000,
  ...Array<number>(17).fill(10_000),
  ...Array<number>(15).fill(60_000),
];

/**
 * When to look again at a charge that waits for its shopper: after a tenth of the time that it has waited, between 15 s and five minutes. The page asks when it has
 * an outcome, and may be closed; the processor's event asks at once.
 */
export function authenticationCheckMs(createdAt: Date, now: Date): number {
  return Math.min(Math.max((now.getTime() - createdAt.getTime()) / 10, 15_000), 300_000);
}

/** When to look again while the processor is known to be down: nothing was asked, so this does not grow. */
export const whileDownMs = 5_000;

/** How long work waits whose processor is not configured: an operator has to act. */
export const whileNotConfiguredMs = 60_000;
