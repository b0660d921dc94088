import type { Scope, Tx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { endWithHold, type HoldTime } from '../domain/hold.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { markLapseAnnounced, recordCaptureBefore } from '../store/holds.ts';
import { findIntent } from '../store/payment-intents.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { isInFlight } from './end-session-of-hold.ts';
import { appendIntentEvent } from './payment-events.ts';

/**
 * Tells the shop, once for each hold, that it lapses within a day and is voided before that, in the transaction that has the hold looked at again when it ends. Only
 * the hold of a session that the shop captures itself is announced. While a payment or capture of the session is under way, nothing is: the hold is looked at again
 * some minutes later.
 */
export async function announceLapse(
  { clock }: Pick<Context, 'clock'>,
  tx: Tx,
  scope: Scope,
  { id, sessionId }: PaymentIntent,
  hold: HoldTime,
): Promise<void> {
  if (sessionId === null) throw new Error(`Payment intent ${id} is held for no session`);
  const session = await lockSession(tx, scope, sessionId);
  // As it is under the lock of its session's row.
  const intent = await findIntent(tx, scope, id);
  if (session === undefined || intent?.status !== 'requires_capture') return;
  if (session.status === 'open' || (await isInFlight(tx, scope, session, intent))) return;
  const { captureBefore } = hold;
  await recordCaptureBefore(tx, scope, id, { captureBefore, checkAt: endWithHold(captureBefore) });
  if (session.status !== 'paid' || session.captureMethod !== 'manual') return;
  const at = await timeOnClock(tx, scope, clock, session.testClockId);
  if (!(await markLapseAnnounced(tx, scope, id, at))) return;
  await appendIntentEvent(tx, scope, 'payment_intent.hold_will_lapse', { ...intent, captureBefore }, at);
}
