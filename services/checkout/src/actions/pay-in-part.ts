import type { Scope, Tx } from '@eligo/postgres';
import type { Cents } from '@eligo/values';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { divideLines, healthcareOfShares } from '../domain/line-tenders.ts';
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
export async function recordLineTenders(tx: Tx, scope: Scope, sessionId: string, otherIntentId: string): Promise<void> {
  const live = await liveAttempts(tx, scope, 'session', sessionId);
  const health = live.find(({ leg, status }) => leg === 'health' && status === 'succeeded');
  if (health === undefined || health.askedCents == null) return;
  const lines = await loadSessionLines(tx, scope, sessionId);
  const cards = { healthIntentId: health.paymentIntentId, otherIntentId };
  await insertLineTenders(tx, scope, sessionId, cards, divideLines(lines, health.amountCents));
}
