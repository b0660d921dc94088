import type { CheckoutSession } from '@eligo/proto/checkout/v1/checkout';
import type { CallOptions } from '@eligo/rpc';
import { toFailure } from './http/to-failure.ts';
import type { Peers } from './peers.ts';

/** The whole answer is due within 9 s; billing usually has the subscription within a few milliseconds. */
const answerDueMs = 9_000;
const longestWaitMs = 5_000;

/** Waits until billing has made a completed session's subscription, so that what the answer names can be read. */
export async function awaitSubscription(
  { billing }: Peers,
  session: CheckoutSession,
  call: CallOptions,
  spentMs: number,
): Promise<void> {
  const { subscriptionId } = session;
  const timeoutMs = Math.min(longestWaitMs, answerDueMs - spentMs);
  if (session.status !== 'complete' || subscriptionId === undefined || timeoutMs <= 0) return;
  try {
    await billing.awaitSubscription({ subscriptionId }, { ...call, timeoutMs });
  } catch (error) {
    // The money has moved and the subscription will be made: an answer without it is right, if early.
    if (toFailure(error).code === 'internal') throw error;
  }
}
