import { type Scope, withTx } from '@eligo/postgres';
import type { Charging } from '../charging.ts';
import { type ChargeAttempt, nextCheckDelayMs } from '../domain/charge-attempt.ts';
import { recordUnknown } from '../store/charge-attempts.ts';
import { endLateAttempt } from './end-late-attempt.ts';
import { sendAttempt } from './send-attempt.ts';
import { type SettledAttempt, settleAttempt } from './settle-attempt.ts';
import type { ClaimedCharge } from './settle-confirmed.ts';

/**
 * Sends an attempt and settles what came of it, or cancels it once its time to confirm is over; undefined while nobody knows, when it was canceled
 * so, or when another process has taken over. If it fails itself, what
 * it has sent is unknown like a lost answer, and its lease is given back, so that a retry need not wait for it. The caller holds that lease.
 */
export async function driveAttempt(
  charging: Charging,
  scope: Scope,
  attempt: ChargeAttempt,
  deadlineMs: number,
  claimed?: ClaimedCharge,
): Promise<SettledAttempt | undefined> {
  try {
    if (attempt.confirmOver) return await endLateAttempt(charging, scope, attempt, deadlineMs);
    const sent = await sendAttempt(charging, scope, attempt, deadlineMs);
    return sent.kind === 'verdict'
      ? await settleAttempt(charging, scope, sent.attempt, sent.verdict, claimed)
      : undefined;
  } catch (error) {
    await giveBack(charging, scope, attempt);
    throw error;
  }
}

// For the holder of the epoch alone, and not once it is settled. What hinders it here is told by the error that brought us here.
async function giveBack(charging: Charging, scope: Scope, attempt: ChargeAttempt): Promise<void> {
  try {
    await withTx(charging.database, scope, (tx) => recordUnknown(tx, scope, attempt, nextCheckDelayMs(attempt.checks)));
  } catch (error) {
    charging.logger.warn(
      { err: error, attemptId: attempt.id },
      'Failed to release the lease of a charge attempt; it stays leased until the lease expires',
    );
  }
}
