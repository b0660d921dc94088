import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { letterFeeOfEnded } from '../domain/letter-fee.ts';
import type { Session } from '../domain/session.ts';
import { lockSession, saveSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { noteCancellation } from '../store/timeline-causes.ts';
import { endLetters } from './end-letters.ts';
import { appendSessionEvent } from './payment-events.ts';
import { appendRedemptionsEnd } from './redemptions-end.ts';
import { scheduleVoids } from './schedule-voids.ts';

type Needs = Pick<Context, 'database' | 'clock'>;

/** Expires an open session at the partner's word. */
export async function expireSession(needs: Needs, scope: Scope, id: string): Promise<Session> {
  return withTx(needs.database, scope, async (tx) => {
    const session = await lockExisting(tx, scope, id);
    if (session.status !== 'open') throw new Failure('checkout_session_not_open');
    return (await endSession(needs, tx, scope, session, 'expired')) ?? refuseWhileCharging();
  });
}

/** Who cancels a session. */
export interface Cancellation {
  /** A shopper cancels an open session alone: once its cards are authorized, the order is the shop's (decisions 14.82). */
  readonly by: 'shopper' | 'partner';
}

/** Cancels an open or paid session and schedules the voids of its holds. Never after a capture (decisions 7). */
export async function cancelSession(
  needs: Needs,
  scope: Scope,
  id: string,
  { by }: Cancellation = { by: 'partner' },
): Promise<Session> {
  return withTx(needs.database, scope, async (tx) => {
    const session = await lockExisting(tx, scope, id);
    if (session.status === 'canceled') throw new Failure('checkout_session_canceled');
    if (session.status === 'expired') throw new Failure('checkout_session_expired');
    const isProcessed = session.status === 'complete' || (by === 'shopper' && session.status === 'paid');
    if (isProcessed || session.amountReceivedCents > 0) {
      throw new Failure('checkout_session_already_processed');
    }
    const ended = (await endSession(needs, tx, scope, session, 'canceled')) ?? refuseWhileCharging();
    await noteCancellation(tx, scope, id, by);
    return ended;
  });
}

/**
 * Cancels a paid session that will not be captured, because a letter of it was denied or its review ended. The caller holds the session's row; the
 * letters that are still in review end with it. Throws `lock_timeout` while money of the session is moving.
 */
export async function cancelPaidSession(
  needs: Pick<Needs, 'clock'>,
  tx: Tx,
  scope: Scope,
  session: Session,
): Promise<Session> {
  return (await endSession(needs, tx, scope, session, 'canceled')) ?? refuseWhileCharging();
}

/**
 * Expires the session if it is open, its time has come (or `evenIfNotDue`), and no charge for it is in flight; a skipped one is looked at
 * again later. Returns whether it expired.
 */
export async function expireIfDue(
  needs: Needs,
  scope: Scope,
  id: string,
  options: { readonly evenIfNotDue?: boolean } = {},
): Promise<boolean> {
  try {
    return await withTx(needs.database, scope, async (tx) => {
      const session = await lockSession(tx, scope, id);
      if (session?.status !== 'open') return false;
      const now = await timeOnClock(tx, scope, needs.clock, session.testClockId);
      if (options.evenIfNotDue !== true && session.expiresAt > now) return false;
      if ((await endSession(needs, tx, scope, session, 'expired')) === undefined) throw new ChargeUnderWay();
      return true;
    });
  } catch (error) {
    if (error instanceof ChargeUnderWay) return false;
    throw error;
  }
}

/**
 * Expires the session that another one takes the place of, and returns it as it then is. One that is open no more stays as it is. Throws `lock_timeout` while money of
 * the session is moving.
 */
export async function expireReplaced(
  needs: Pick<Needs, 'clock'>,
  tx: Tx,
  scope: Scope,
  id: string,
): Promise<Session | undefined> {
  const session = await lockSession(tx, scope, id);
  if (session?.status !== 'open') return session;
  return (await endSession(needs, tx, scope, session, 'expired')) ?? refuseWhileCharging();
}

/** Thrown to take back what was prepared for an end that must wait. */
class ChargeUnderWay extends Error {}

async function lockExisting(tx: Tx, scope: Scope, id: string): Promise<Session> {
  const session = await lockSession(tx, scope, id);
  if (session === undefined) throw new Failure('checkout_session_not_found');
  return session;
}

// A charge in flight settles first; a moment later the partner can see how it ended.
function refuseWhileCharging(): never {
  throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
}

// Undefined while money for the session is on its way; the caller then gives the transaction up. The session's row is locked, so none can set
// out meanwhile.
async function endSession(
  { clock }: Pick<Needs, 'clock'>,
  tx: Tx,
  scope: Scope,
  session: Session,
  status: 'expired' | 'canceled',
): Promise<Session | undefined> {
  const endedAt = await timeOnClock(tx, scope, clock, session.testClockId);
  const told = new Failure(status === 'expired' ? 'checkout_session_expired' : 'checkout_session_canceled');
  if (!(await scheduleVoids(tx, scope, session.id, endedAt, told))) return undefined;
  const letterFeeStatus = letterFeeOfEnded(session);
  const ended = await saveSession(tx, scope, session, {
    ...session,
    status,
    endedAt,
    letterFeeStatus,
    nextAction: null,
  });
  await appendRedemptionsEnd(tx, scope, ended, 'release');
  await endLetters(tx, scope, ended.id, endedAt);
  // A cancel is announced by the same event (decisions 7).
  await appendSessionEvent(tx, scope, 'checkout.session.expired', ended, endedAt);
  return ended;
}
