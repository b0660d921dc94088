import type { CallOptions } from '@eligo/rpc';

/** Clients give up after 10 s, so what moves money is answered within 9 (decisions 7); the rest is for the way back. */
const moneyTimeoutMs = 9_200;

/** A call that may have to wait for locks and the processor. */
export function moneyCall(call: CallOptions): CallOptions {
  return { ...call, timeoutMs: moneyTimeoutMs };
}
