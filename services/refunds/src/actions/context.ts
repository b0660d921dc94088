import type { Database, Scope } from '@eligo/postgres';
import type { Processors } from '@eligo/processor';
import type { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { CallOptions, Client } from '@eligo/rpc';
import type { DueWork } from '../store/due-work.ts';

/** What the actions of this service work with. */
export interface Refunds {
  readonly database: Database;
  readonly processors: Processors;
  readonly checkout: Client<typeof CheckoutService>;
  /** A call of this service's own on an account's behalf. */
  callFor(scope: Scope, features: readonly string[]): CallOptions;
  failpoint(name: Failpoint): Promise<void> | undefined;
  /** Starts this work now, without waiting for it. */
  wake(work: readonly DueWork[]): void;
  /** Told of what an operator should look at; never with a record's contents. */
  alert(fields: Readonly<Record<string, string | number>>, message: string): void;
  readonly budgets: Budgets;
}

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

/** The places at which tests stop the process, in the order in which a refund passes them. */
export const refundFailpoints = [
  'refund.after_request',
  'refund.after_reserve',
  'refund.after_pending',
  'refund.after_fence',
  'refund.after_call',
  'refund.after_settle',
  'refund.after_release',
  'refund.after_failure',
] as const;

export type Failpoint = (typeof refundFailpoints)[number];
