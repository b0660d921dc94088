import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Charging } from '../charging.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import type { Session } from '../domain/session.ts';
import { findChargeableCards } from '../store/session-payments.ts';
import { lockSession, saveSession } from '../store/sessions.ts';
import { beginSetupIntent, markSetUp } from '../store/setup-intents.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { finishPaidSession } from './pay-session.ts';

/**
 * Sets a shopper's card up for later use: a setup-mode session moves no money. The set-up at the processor is keyed by the session's set-up
 * intent, so that a repeat after a crash finishes the same one. Answers with the session, complete or open with `payment_failed`.
 */
export async function setUpSession(
  charging: Charging,
  scope: Scope,
  found: Session,
  paymentMethodId: string | undefined,
): Promise<Session> {
  const loc = ['body', 'checkout_session', 'payment_method'];
  if (paymentMethodId === undefined) throw Failure.invalid(loc, 'missing', 'A setup session needs a payment method.');
  const [card] = await findChargeableCards(charging.database, scope, [paymentMethodId]);
  if (card === undefined) {
    throw Failure.invalid(loc, 'payment_method_not_found', `payment_method_not_found: ${paymentMethodId}`);
  }
  const begun = await withTx(charging.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, found.id);
    if (session === undefined) throw new Failure('checkout_session_not_found');
    const at = await timeOnClock(tx, scope, charging.clock, session.testClockId);
    const refusal = refusalByStatus(session, at);
    if (refusal !== undefined) throw refusal;
    const setupIntentId = session.setupIntentId ?? newId('setup_intent');
    await beginSetupIntent(tx, scope, {
      id: setupIntentId,
      customerId: session.customerId,
      paymentMethodId: card.id,
      sessionId: session.id,
      at,
    });
    return { setupIntentId, at, session: await saveSession(tx, scope, session, { ...session, setupIntentId }) };
  });
  await charging.failpoint('set_up.reserved');
  const verdict = await setUpAtProcessor(charging, scope, `${begun.setupIntentId}:${card.id}`, card);
  return withTx(charging.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, found.id);
    if (session === undefined) throw new Failure('checkout_session_not_found');
    if (session.status !== 'open') return session;
    if (verdict.kind === 'declined') {
      const nextAction = {
        type: 'payment_failed' as const,
        message: 'The card could not be set up.',
        errorCode: verdict.code,
      };
      return saveSession(tx, scope, session, { ...session, nextAction });
    }
    await markSetUp(tx, scope, begun.setupIntentId);
    const after: Session = { ...session, status: 'complete', completedAt: begun.at, nextAction: null };
    return finishPaidSession(tx, scope, { session, after, intent: undefined, at: begun.at });
  });
}

async function setUpAtProcessor(
  charging: Charging,
  scope: Scope,
  key: string,
  card: { processorPaymentMethodId: string; processorCustomerId: string | null },
): Promise<{ kind: 'succeeded' } | { kind: 'declined'; code: string }> {
  const processor = charging.processors.of(scope);
  const timeoutMs = charging.budgets.callMs / 2;
  const made = await processor.createSetupIntent(
    { paymentMethod: card.processorPaymentMethodId, customer: card.processorCustomerId ?? undefined },
    { idempotencyKey: `${key}:create`, timeoutMs },
  );
  if (made.kind === 'unknown') throw new Failure('service_unavailable', { retryAfterSeconds: 1 });
  if (made.kind === 'declined' || made.kind === 'rejected') return { kind: 'declined', code: made.code };
  const set = await processor.confirmSetupIntent(
    made.setupIntentId,
    { paymentMethod: card.processorPaymentMethodId },
    { idempotencyKey: `${key}:confirm`, timeoutMs },
  );
  if (set.kind === 'succeeded') return { kind: 'succeeded' };
  if (set.kind === 'declined' || set.kind === 'rejected') return { kind: 'declined', code: set.code };
  if (set.kind === 'requires_action') return { kind: 'declined', code: 'authentication_required' };
  throw new Failure('service_unavailable', { retryAfterSeconds: 1 });
}
