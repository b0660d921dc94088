import type { Scope, Tx } from '@eligo/postgres';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { Session } from '../domain/session.ts';
import { appendSessionEvent } from './payment-events.ts';

/** Whether the confirm that began an attempt was answered, or died, before its outcome was known: another process has taken the attempt over. */
export function isLate({ driver, epoch }: Pick<ChargeAttempt, 'driver' | 'epoch'>): boolean {
  return driver === 'confirm' && epoch > 1;
}

/**
 * Tells how a payment ended whose request was answered before its outcome was known. `session` is as it was saved; the caller holds its row. A payment
 * that failed while another one paid the session is not told.
 */
export async function appendLateOutcome(
  tx: Tx,
  scope: Scope,
  session: Session,
  outcome: 'succeeded' | 'failed',
  at: Date,
): Promise<void> {
  const isPaid = session.status === 'paid' || session.status === 'complete';
  if (isPaid !== (outcome === 'succeeded')) return;
  await appendSessionEvent(tx, scope, `checkout.session.async_payment_${outcome}`, session, at);
}
