import type { Scope, Tx } from '@eligo/postgres';
import type { Cents } from '@eligo/values';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { divideLines, healthcareOfShares } from '../domain/line-tenders.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { recordPart } from '../store/approved-parts.ts';
import { liveAttempts } from '../store/charge-attempts.ts';
import { insertLineTenders } from '../store/line-tenders.ts';
import { loadSessionLines } from '../store/session-lines.ts';

/** Records that a health card was approved for a part: what it is charged, its buckets, and what is left for another card. The caller holds the session's row. */
export async function recordApprovedPart(
  tx: Tx,
  scope: Scope,
  attempt: ChargeAttempt,
  partCents: Cents,
): Promise<void> {
  const lines = await loadSessionLines(tx, scope, attempt.subjectId);
  const healthcare = healthcareOfShares(lines, divideLines(lines, partCents));
  await recordPart(tx, scope, attempt.id, { amountCents: partCents, healthcare });
}

/** Once both cards of a session are held, records which of them pays what of each line, if the health card was approved for a part. */
export async function recordLineTenders(
  tx: Tx,
  scope: Scope,
  { id: sessionId, amountEligibleCents }: Pick<Session, 'id' | 'amountEligibleCents'>,
  other: Pick<PaymentIntent, 'id' | 'amountCents'>,
): Promise<void> {
  const live = await liveAttempts(tx, scope, 'session', sessionId);
  const health = live.find(({ leg, status }) => leg === 'health' && status === 'succeeded');
  if (health === undefined || health.askedCents == null) return;
  const all = await loadSessionLines(tx, scope, sessionId);
  // The cards of a confirm pay what is eligible alone; no card pays the other lines.
  const isConfirm = health.amountCents + other.amountCents === amountEligibleCents;
  const lines = isConfirm ? all.filter((line) => line.amountEligibleCents > 0) : all;
  const cards = { healthIntentId: health.paymentIntentId, otherIntentId: other.id };
  await insertLineTenders(tx, scope, sessionId, cards, divideLines(lines, health.amountCents));
}
