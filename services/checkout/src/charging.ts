import type { EncodedEvent } from '@eligo/events';
import type { Database, GroupedWrites } from '@eligo/postgres';
import type { Processors } from '@eligo/processor';
import { declareFailpoints, type Logger } from '@eligo/service';
import type { Clock } from '@eligo/values';
import type { Claimed, GroupedClaim } from './actions/charge-claim.ts';
import type { PaymentTurns } from './actions/payment-turn.ts';
import type { ChargeAttempt } from './domain/charge-attempt.ts';
import type { AttemptToSend } from './store/charge-attempts.ts';
import type { ConfirmedCharge } from './store/settle-confirmed.ts';

/** How long each part of a charge may take. An answer is due within the 9 s after which clients stop waiting (decisions 1.4). */
export interface ChargeBudgets {
  /** For the rows and the leases of a claim. */
  readonly lockMs: number;
  /** From a confirm's arrival to its answer: for other payments of the customer or with the card to end, for the processor, and to settle. */
  readonly answerMs: number;
  /** Kept of that for what follows the processor's last answer. */
  readonly settleMs: number;
  /** For all calls to the processor that one request makes. */
  readonly callMs: number;
  /** How long a claim lasts; longer than the call and its margin, or a live charge could be taken over. */
  readonly leaseMs: number;
  /** Kept between a call's end and its lease's. */
  readonly marginMs: number;
  /** For how long after its claim a charge may be confirmed at the processor; then it is canceled. At most what the fence's trigger allows. */
  readonly confirmMs: number;
}

/** A confirm that charged, with the events that say so. */
export interface SettlementWrite extends ConfirmedCharge {
  readonly events: readonly EncodedEvent[];
}

/** The writes of confirms that are joined with those of other confirms of the same account and mode (ADR 20). */
export interface ChargeGroups {
  /** Answers the attempt as it is past the fence, or undefined when it may not be sent. */
  readonly fences: GroupedWrites<AttemptToSend, ChargeAttempt | undefined>;
  /** False, with nothing written, when the session has changed since its claim or the attempt is settled. */
  readonly settlements: GroupedWrites<SettlementWrite, boolean>;
  /** Answers what the claim ended in; throws what `claimCharge` throws. */
  readonly claims: GroupedWrites<GroupedClaim, Claimed>;
}

/** What the actions that move money work with. */
export interface Charging {
  readonly database: Database;
  readonly processors: Processors;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failpoint: (name: ChargeFailpoint) => Promise<void> | undefined;
  readonly budgets: ChargeBudgets;
  readonly turns: PaymentTurns;
  readonly groups: ChargeGroups;
}

export const defaultBudgets: ChargeBudgets = {
  lockMs: 1_000,
  answerMs: 8_500,
  settleMs: 1_000,
  callMs: 6_000,
  leaseMs: 30_000,
  marginMs: 2_000,
  // A crash costs a lease of 30 s and a restart, and a short outage three looks within 36 s: what those interrupt is still charged. Who has waited for
  // three minutes has gone, or has bought elsewhere.
  confirmMs: 180_000,
};

/** Refuses budgets under which two processes could send for one attempt at the same time. */
export function assertBudgets(budgets: ChargeBudgets): void {
  if (budgets.leaseMs <= budgets.callMs + budgets.marginMs) {
    throw new Error(
      `The charge lease (${budgets.leaseMs} ms) must exceed the call timeout (${budgets.callMs} ms) plus the margin (${budgets.marginMs} ms)`,
    );
  }
  if (budgets.confirmMs <= budgets.callMs || budgets.confirmMs > longestConfirmMs) {
    throw new Error(
      `The time to confirm (${budgets.confirmMs} ms) must exceed the call timeout (${budgets.callMs} ms) and be at most ${longestConfirmMs} ms`,
    );
  }
}

// The trigger of the fence allows twenty minutes (migration 0030).
const longestConfirmMs = 900_000;

/** Where a test may kill the process while money moves; each is passed with everything before it done and nothing after it. */
export const chargeFailpoints = declareFailpoints([
  'confirm.before_claim',
  'confirm.key_claimed',
  'confirm.before_claim_commit',
  'confirm.claimed',
  'confirm.key_released',
  'charge.intent_created',
  'charge.fence_passed',
  'charge.processor_answered',
  'charge.unknown_recorded',
  'charge.before_settle',
  'charge.before_settle_commit',
  'charge.settled',
  'sweep.attempt_claimed',
  'late.processor_answered',
  'late.before_abandon_commit',
  'late.abandoned',
  'late.before_give_back_commit',
  'late.given_back',
  'invoice.claimed',
  'set_up.reserved',
  'plan.reserved',
  'plan.attempt_begun',
  'plan.hold_decided',
  'plan.before_conclude_commit',
  'hold.processor_answered',
  'hold.before_record_commit',
  'hold.recorded',
  'letter.before_decision_commit',
  'letter.decided',
] as const);

export type ChargeFailpoint = (typeof chargeFailpoints)[number];
