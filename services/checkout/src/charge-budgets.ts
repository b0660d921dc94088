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
  /** How long the answer to a decision or a cancellation waits for the holds that are captured or voided with it; the sweeper finishes what takes longer. */
  readonly soonMs: number;
  /** How long a claim lasts; longer than the call and its margin, or a live charge could be taken over. */
  readonly leaseMs: number;
  /** Kept between a call's end and its lease's. */
  readonly marginMs: number;
  /** For how long after its claim a charge may be confirmed at the processor; then it is canceled. At most what the fence's trigger allows. */
  readonly confirmMs: number;
}

export const defaultBudgets: ChargeBudgets = {
  lockMs: 1_000,
  answerMs: 8_500,
  settleMs: 1_000,
  callMs: 6_000,
  soonMs: 2_000,
  leaseMs: 30_000,
  marginMs: 2_000,
  // A crash costs a lease of 30 s and a restart, and a short outage a few checks within ten seconds of its end: what those interrupt is still charged. Who has waited for
  // three minutes has gone, or has bought elsewhere.
  confirmMs: 180_000,
};

/** How long after its arrival a request that waits in no queue may call the processor, so that the payment is also settled before its answer is due. */
export function callWindowMs({ callMs, lockMs, answerMs, settleMs }: ChargeBudgets): number {
  return Math.min(callMs + lockMs, answerMs - settleMs);
}

/** Refuses budgets under which two processes could send for one attempt at the same time, or a client could be answered too late. */
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
  if (budgets.answerMs >= clientsWaitMs || budgets.settleMs >= budgets.answerMs) {
    throw new Error(
      `The time to answer (${budgets.answerMs} ms) must be below ${clientsWaitMs} ms and exceed the time to settle (${budgets.settleMs} ms)`,
    );
  }
}

// All of a charge shares it, its queue and settling included: clients give up after 10 s (decisions 1.4).
const clientsWaitMs = 9_000;

// The trigger of the fence allows twenty minutes (migration 0030).
const longestConfirmMs = 900_000;
