import { type Cents, cents, stateTable } from '@eligo/values';
import type { CardKind } from './card-kind.ts';

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

export interface ChargeAttempt {
  readonly id: string;
  readonly purpose: 'session' | 'invoice';
  readonly subjectId: string;
  readonly leg: Leg;
  readonly driver: AttemptDriver;
  readonly eligibilityRecordId: string | null;
  readonly paymentIntentId: string;
  readonly customerId: string | null;
  readonly paymentMethodId: string;
  readonly processorPaymentMethodId: string;
  readonly processorCustomerId: string | null;
  readonly offSession: boolean;
  readonly captureMethod: 'automatic' | 'manual';
  readonly amountCents: Cents;
  readonly healthcare: HealthcareCents;
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
  /** Billing's name for the charge, which may take several attempts; null but for invoices. */
  readonly operationId: string | null;
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
  | { readonly kind: 'succeeded'; readonly chargeId: string; readonly capturable: boolean }
  | {
      readonly kind: 'declined';
      readonly code: string;
      readonly declineCode: string | undefined;
      readonly chargeId: string | undefined;
    }
  | { readonly kind: 'failed'; readonly code: string };

/**
 * How long after its n-th inconclusive check an attempt is checked again: 1 s, 5 s, 30 s, each minute for a quarter of an hour, then each five
 * minutes. So what an outage has left is found out within a minute of its end; a longer one the checks themselves show to be one (the breaker
 * opens at the twelfth failure), and then none is counted.
 */
export function nextCheckDelayMs(checks: number): number {
  return firstChecksMs[checks] ?? (checks < firstChecksMs.length + 15 ? 60_000 : 300_000);
}

const firstChecksMs = [1_000, 5_000, 30_000];

/** When to look again while the processor is known to be down: nothing was asked, so this does not grow. */
export const whileDownMs = 5_000;
