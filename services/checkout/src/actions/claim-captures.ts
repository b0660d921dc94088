import { claimFreshKeys, type Scope, type Tx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { allocateCapture } from '../domain/capture-allocation.ts';
import { refusalToCapture } from '../domain/capture-rules.ts';
import type { Session } from '../domain/session.ts';
import { type CaptureFacts, insertCaptures, loadCaptureFacts } from '../store/captures-together.ts';
import { lockSessions } from '../store/sessions.ts';
import type { CaptureToClaim, ClaimedCapture } from './capture-claim.ts';
import type { Claiming } from './claim-charge.ts';

/**
 * Claims several plain captures together: unused keys, sessions of which one card holds everything, and captures that leave nothing held. Returns undefined
 * if one of them is not plain: the caller rolls back.
 */
export async function claimCaptures(
  { clock, budgets, failpoint }: Claiming,
  tx: Tx,
  scope: Scope,
  claims: readonly CaptureToClaim[],
): Promise<ClaimedCapture[] | undefined> {
  const sessionIds = claims.map(({ sessionId }) => sessionId);
  if (new Set(sessionIds).size < claims.length) return undefined;
  const fresh = claims.map((claim) => ({ ...claim, attemptId: newId('capture') }));
  // The sessions first, as whoever settles a capture takes them before the key.
  const [sessions, areFresh, facts] = await Promise.all([
    lockSessions(tx, scope, sessionIds),
    claimFreshKeys(tx, scope, fresh, budgets.leaseMs),
    loadCaptureFacts(tx, scope, sessionIds),
  ]);
  await failpoint('capture.key_claimed');
  if (!areFresh) return undefined;
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const planned = [];
  for (const claim of fresh) {
    const session = byId.get(claim.sessionId);
    const known = facts.get(claim.sessionId);
    const one = session && known && plainCapture(claim, session, known, clock.now());
    if (one === undefined) return undefined;
    planned.push(one);
  }
  const captures = planned.map(({ capture }) => capture);
  const operations = await insertCaptures(tx, scope, captures, budgets.leaseMs);
  await failpoint('capture.before_claim_commit');
  if (operations === undefined) return undefined;
  return planned.flatMap((one, at) => {
    const operation = operations[at];
    return operation === undefined ? [] : [{ ...one, operation }];
  });
}

// Undefined when `captureSession` must decide: a refusal, a second card, letters, a hold that stays, a test clock.
function plainCapture(
  { attemptId: id, instruction, metadata, isDown }: CaptureToClaim & { readonly attemptId: string },
  session: Session,
  { cards, lines, captured, ...standing }: CaptureFacts,
  at: Date,
): Omit<ClaimedCapture, 'operation'> | undefined {
  const [held, ...others] = cards;
  const isPlain =
    session.mode === 'payment' &&
    session.testClockId === null &&
    !session.letterRequired &&
    session.letterFeeStatus === null &&
    refusalToCapture(session) === undefined &&
    !(standing.isCapturing || standing.isPaying || standing.hasTenders);
  if (!isPlain || held === undefined || others.length > 0 || isDown(held.intent.processorAccount)) return undefined;
  const intents = [held.intent];
  const allocation = allocateCapture({ session, lines, intents, tenders: [], captured }, instruction);
  const [card] = allocation.cards;
  if (card === undefined || !card.endsHold || !allocation.isFinal) return undefined;
  return { session, held, capture: { id, sessionId: session.id, cause: 'session', allocation, metadata, at } };
}
