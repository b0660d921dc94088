import type { Scope, Tx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import { awaitsLetters } from '../domain/letter.ts';
import { claimAttempt } from '../store/charge-attempts.ts';
import { endConfirmTime } from '../store/late-attempts.ts';
import { loadSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';

/**
 * Takes an unsettled attempt over after its lease expired; undefined when it is settled or still leased. Its time to confirm ends here when its
 * session takes no payment any more by the session's own clock, which may be a test clock that was moved, and that of a renewal when no letter is in review.
 */
export async function takeOverAttempt(
  context: Pick<Context, 'budgets' | 'clock'>,
  tx: Tx,
  scope: Scope,
  id: string,
): Promise<ChargeAttempt | undefined> {
  const claimed = await claimAttempt(tx, scope, id, context.budgets.leaseMs);
  if (claimed === undefined || claimed.confirmOver || claimed.purpose === 'invoice') return claimed;
  const session = await loadSession(tx, scope, claimed.subjectId);
  if (session === undefined) throw new Error(`Session ${claimed.subjectId} not found`);
  const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
  const isWanted = claimed.purpose === 'renewal' ? awaitsLetters(session) : refusalByStatus(session, at) === undefined;
  if (isWanted) return claimed;
  await endConfirmTime(tx, scope, claimed);
  return { ...claimed, confirmOver: true };
}
