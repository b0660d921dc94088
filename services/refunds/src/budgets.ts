/** How long things may take, in milliseconds. A lease outlasts the longest call that is made under it, with a margin. */
export interface Budgets {
  readonly leaseMs: number;
  readonly processorMs: number;
  readonly checkoutMs: number;
  /** Between the end of the longest call and the end of the lease there is time to write down what it said. */
  readonly marginMs: number;
}

export const defaultBudgets: Budgets = { leaseMs: 30_000, processorMs: 6_000, checkoutMs: 5_000, marginMs: 2_000 };

/** Refuses budgets under which two processes could send one refund at the same time. */
export function assertBudgets({ leaseMs, processorMs, checkoutMs, marginMs }: Budgets): void {
  const callMs = Math.max(processorMs, checkoutMs);
  if (leaseMs <= callMs + marginMs) {
    throw new Error(
      `The refund lease (${leaseMs} ms) must exceed the call timeout (${callMs} ms) plus the margin (${marginMs} ms)`,
    );
  }
}
