import type { CallOptions } from '@eligo/rpc';

/** Clients give up after 10 s. Checkout answers within about 9 by budgets of its own (decisions 1.4); what does not is ended in time to say so. */
export const moneyTimeoutMs = 9_200;

/** A call that may have to wait for locks and the processor. */
export function moneyCall(call: CallOptions): CallOptions {
  return { ...call, timeoutMs: moneyTimeoutMs };
}

/** The calls of a request that makes several, or that waits for its turn first: together they have the time of one, from now on or from when the request arrived. */
export function moneyCalls(call: CallOptions, arrivedAtMs = performance.now()): CallOptions {
  const endsAtMs = arrivedAtMs + moneyTimeoutMs;
  return { ...call, timeoutMs: () => endsAtMs - performance.now() };
}
