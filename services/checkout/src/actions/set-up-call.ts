import type { Scope } from '@eligo/postgres';
import type { ProcessorPort } from '@eligo/processor';
import type { Context } from '../context.ts';
import type { SubscriptionSetUp } from '../domain/subscription-set-up.ts';

/** A look at the set-up of a subscription, at its processor. */
export interface SetUpCall {
  readonly context: Context;
  readonly scope: Scope;
  readonly port: ProcessorPort;
  readonly setUp: SubscriptionSetUp;
  readonly deadlineMs: number;
}

/** What is left of the time of a look. */
export function timeLeft({ deadlineMs }: Pick<SetUpCall, 'deadlineMs'>): { readonly timeoutMs: number } {
  return { timeoutMs: Math.max(deadlineMs - performance.now(), 0) };
}
