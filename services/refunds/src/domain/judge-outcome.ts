import { keyRetentionMs } from './pauses.ts';

/** What a refusal or an unknown answer of the processor is known by. */
export type Refusal =
  | { readonly kind: 'rejected'; readonly code: string; readonly status: number }
  | { readonly kind: 'unknown'; readonly mayHaveHappened: boolean; readonly replayed: boolean };

/**
 * What to do about an attempt that was not accepted: it failed for good; the same key is sent again; what the processor has is looked up; or
 * the trouble is ours and an operator must see it before the same key is sent again.
 */
export type NextStep =
  | { readonly step: 'fail'; readonly code: string }
  | { readonly step: 'send_again' }
  | { readonly step: 'look_up' }
  | { readonly step: 'alert'; readonly code: string };

/** Decides by what the processor said. Unknown is never taken for failed. */
export function judgeRefusal(refusal: Refusal, sends: number): NextStep {
  if (refusal.kind === 'unknown') return refusal.replayed ? { step: 'look_up' } : { step: 'send_again' };
  const { code, status } = refusal;
  // About who we are or how we asked, and not about the refund.
  if (status === 401 || status === 403 || code === 'idempotency_error') return { step: 'alert', code };
  // The processor does not have our payment: another account is asked, or its data is gone. It says nothing about the refund.
  if (status === 404) return { step: 'alert', code };
  // What an earlier send did may be the very reason why this one is refused.
  if (sends > 1) return { step: 'look_up' };
  return { step: 'fail', code };
}

/** Whether the processor may have forgotten an attempt's key: from then on it is looked up and not sent again. */
export function isKeyForgotten(firstSentAt: Date | null, now: Date): boolean {
  return firstSentAt !== null && now.getTime() - firstSentAt.getTime() >= keyRetentionMs;
}
