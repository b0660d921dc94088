import type { CallOptions } from '@eligo/rpc';

/** Clients give up after 10 s. Checkout answers within about 9 by budgets of its own (decisions 1.4); what does not is ended in time to say so. */
export const moneyTimeoutMs = 9_200;

/** A call that may have to wait for locks and the processor. */
export function moneyCall(call: CallOptions): CallOptions {
  return { ...call, timeoutMs: moneyTimeoutMs };
}

/** The calls of a request that makes several: together they have the time of one, from now on. */
export function moneyCalls(call: CallOptions): CallOptions {
  const endsAtMs = performance.now() + moneyTimeoutMs;
  return { ...call, timeoutMs: () => endsAtMs - performance.now() };
}
