import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { NotNow, ProcessorPort, Rejected, Unknown } from '@eligo/processor';
import { newId } from '@eligo/values';
import type { Charging } from '../charging.ts';
import type { CardSlot } from '../domain/card-kind.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import type { Session } from '../domain/session.ts';
import { noteShopperKinds } from '../store/payment-methods.ts';
import { type ChargeableCard, findChargeableCards } from '../store/session-payments.ts';
import { lockSession, saveSession } from '../store/sessions.ts';
import { beginSetupIntent, markSetUp, takeNextTry } from '../store/setup-intents.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { finishPaidSession } from './pay-session.ts';
import { isOurOwnFault } from './processor-refusal.ts';

/**
 * Sets a shopper's card up for later use: a setup-mode session moves no money. The set-up at the processor is keyed by the session's set-up
 * intent, so that a repeat after a crash finishes the same one; the key moves on past an error that the processor has stored. Answers with the
 * session, complete or open with `payment_failed`.
 */
export async function setUpSession(
  charging: Charging,
  scope: Scope,
  found: Session,
  paymentMethodId: string | undefined,
  slot?: CardSlot | undefined,
): Promise<Session> {
  const loc = ['body', 'checkout_session', 'payment_method'];
  if (paymentMethodId === undefined)
    throw Failure.invalid(loc, 'missing', 'A setup session requires a payment method.');
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
    const tries = await beginSetupIntent(tx, scope, {
      id: setupIntentId,
      customerId: session.customerId,
      paymentMethodId: card.id,
      sessionId: session.id,
      at,
    });
    await saveSession(tx, scope, session, { ...session, setupIntentId });
    if (slot !== undefined) await noteShopperKinds(tx, scope, new Map([[card.id, slot === 'health']]));
    return { setupIntentId, tries, at };
  });
  await charging.failpoint('set_up.reserved');
  const verdict = await setUpAtProcessor(charging, scope, begun, card);
  return withTx(charging.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, found.id);
    if (session === undefined) throw new Failure('checkout_session_not_found');
    if (session.status !== 'open') return session;
    if (verdict.kind === 'declined') {
      const nextAction = {
        type: 'payment_failed' as const,
        message: 'The card could not be saved.',
        errorCode: verdict.code,
        ...(session.details.redirectUrl === undefined ? {} : { url: session.details.redirectUrl }),
      };
      return saveSession(tx, scope, session, { ...session, nextAction });
    }
    await markSetUp(tx, scope, begun.setupIntentId, card.id);
    const after: Session = { ...session, status: 'complete', completedAt: begun.at, nextAction: null };
    return finishPaidSession(tx, scope, { session, after, intent: undefined, at: begun.at });
  });
}

type SetUpVerdict = { readonly kind: 'succeeded' } | { readonly kind: 'declined'; readonly code: string };

// How many answers of 500 that are stored under its keys one request passes by; the next request passes by more.
const mostKeys = 4;

async function setUpAtProcessor(
  charging: Charging,
  scope: Scope,
  begun: { readonly setupIntentId: string; readonly tries: number },
  card: ChargeableCard,
): Promise<SetUpVerdict> {
  const deadlineMs = performance.now() + charging.budgets.callMs;
  let { tries } = begun;
  for (let passed = 0; passed < mostKeys; passed++) {
    const key = `${begun.setupIntentId}:${card.id}:${tries}`;
    const verdict = await trySetUp(charging.processors.of(scope), key, card, deadlineMs);
    if (verdict !== 'stored_error') return verdict;
    tries = await withTx(charging.database, scope, (tx) => takeNextTry(tx, scope, begun.setupIntentId, tries));
  }
  throw unavailable();
}

async function trySetUp(
  processor: ProcessorPort,
  key: string,
  card: ChargeableCard,
  deadlineMs: number,
): Promise<SetUpVerdict | 'stored_error'> {
  const remaining = () => Math.max(deadlineMs - performance.now(), 0);
  const made = await processor.createSetupIntent(
    { paymentMethod: card.processorPaymentMethodId, customer: card.processorCustomerId ?? undefined },
    { idempotencyKey: `${key}:create`, timeoutMs: remaining() },
  );
  if (made.kind === 'unknown') return orStoredError(made);
  if (made.kind === 'not_now') throw notNow(made);
  if (made.kind === 'declined') return { kind: 'declined', code: made.code };
  if (made.kind === 'rejected') return refused(made);
  const set = await processor.confirmSetupIntent(
    made.setupIntentId,
    { paymentMethod: card.processorPaymentMethodId },
    { idempotencyKey: `${key}:confirm`, timeoutMs: remaining() },
  );
  switch (set.kind) {
    case 'succeeded':
      return { kind: 'succeeded' };
    case 'declined':
      return { kind: 'declined', code: set.code };
    case 'rejected':
      return refused(set);
    case 'requires_action':
      return { kind: 'declined', code: 'authentication_required' };
    case 'unknown':
      return orStoredError(set);
    case 'not_now':
      throw notNow(set);
    case 'confirmable':
    case 'processing':
    case 'canceled':
      throw unavailable();
  }
}

function refused(rejected: Rejected): SetUpVerdict {
  if (isOurOwnFault(rejected)) throw unavailable();
  return { kind: 'declined', code: rejected.code };
}

// A 500 that the processor replays stays under this key for a day, and nothing that is sent with it is carried out any more. Whatever else is
// unknown may still be: it is asked again under the same key.
function orStoredError({ replayed }: Unknown): 'stored_error' {
  if (replayed) return 'stored_error';
  throw unavailable();
}

function notNow({ retryAfterMs }: NotNow): Failure {
  return unavailable(Math.ceil(retryAfterMs / 1_000));
}

function unavailable(retryAfterSeconds = 1): Failure {
  return new Failure('service_unavailable', { retryAfterSeconds });
}
