import type { AttemptResult, ClaimedDelivery } from './delivery.ts';
import { nextDelayMs, retryAfterMs } from './schedule.ts';

/** How the request ended, as the sender saw it. */
export type Outcome =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: string | undefined }
  | { readonly kind: 'refused_target'; readonly reason: string }
  | { readonly kind: 'no_answer'; readonly reason: string };

/** What an outcome means for the delivery: done, tried again at a time, or given up. `random` is in [0, 1). */
export function judgeAttempt(
  claim: ClaimedDelivery,
  outcome: Outcome,
  timing: { startedAt: Date; durationMs: number; random: number },
): AttemptResult {
  const status = outcome.kind === 'answered' ? outcome.status : null;
  const succeeded = status !== null && status >= 200 && status < 300;
  const endedAt = new Date(timing.startedAt.getTime() + timing.durationMs);
  const gone = status === 410;
  const asked = outcome.kind === 'answered' ? retryAfterMs(outcome.status, outcome.retryAfter, endedAt) : 0;
  const delay = succeeded || gone ? undefined : nextDelayMs(claim.attempts + 1, timing.random, asked);
  return {
    deliveryId: claim.deliveryId,
    webhookId: claim.webhookId,
    epoch: claim.epoch,
    dueAt: claim.dueAt,
    startedAt: timing.startedAt,
    durationMs: timing.durationMs,
    responseStatus: status,
    error: succeeded ? null : outcome.kind === 'answered' ? `answered ${outcome.status}` : outcome.reason,
    nextAttemptAt: delay === undefined ? null : new Date(endedAt.getTime() + delay),
    unreachable: status === null || status === 429 || status >= 500,
    gone,
  };
}
