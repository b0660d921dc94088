import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { ProcessorPort, SetupOutcome } from '@eligo/processor';
import type { Context } from '../context.ts';
import { isConfirmationToken } from '../domain/payment-method.ts';
import type { Session } from '../domain/session.ts';
import { declineSourceOf } from '../domain/session-declines.ts';
import { recordAgreement, recordConfirmedMethod } from '../store/payment-methods.ts';
import { countDecline } from '../store/session-declines.ts';
import { findChargeableCards } from '../store/session-payments.ts';
import { loadSession, lockSession, saveSession } from '../store/sessions.ts';
import { type AskedSetUp, findAskedSetUp, forgetAskedSetUp } from '../store/set-up-authentications.ts';
import { markSetUp } from '../store/setup-intents.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { noteSetUpFailure } from '../store/timeline-causes.ts';
import { completeSession } from './complete-session.ts';
import { customerExists } from './require-customer.ts';
import { type SetUpAnswer, setUpAnswerOf } from './set-up-answer.ts';
import { cardNotSaved } from './set-up-session.ts';

/**
 * Learns from the processor what came of the authentication of a card that a session saves, and goes on with what the shopper gave: the other card, or the end of
 * the session. What the browser says of it counts for nothing. With `giveUp` the shopper wants another card: the set-up is canceled if the bank still waits. A repeat
 * after a crash goes on with what is left.
 */
export async function resumeSetUp(context: Context, scope: Scope, session: Session, giveUp: boolean): Promise<void> {
  const asked =
    session.status === 'open' ? await findAskedSetUp(context.database, scope, session.setupIntentId) : undefined;
  if (asked === undefined) return;
  if (!asked.isSetUp) {
    const answer = await answerOf(context, scope, asked, giveUp);
    if (answer === undefined) return;
    if (!(await record(context, scope, session.id, asked, answer))) return;
    await context.failpoint('set_up.authenticated');
  }
  try {
    const { slots, ...given } = asked.given;
    const payment = { ...given, slots: slots.map((slot) => slot ?? undefined) };
    await completeSession(context, scope, { ...payment, sessionId: session.id, shippingDetails: null });
  } catch (error) {
    // Another request went on with the same answer, and was first.
    const after = await loadSession(context.database, scope, session.id);
    if (error instanceof Failure && after?.status !== 'open') return;
    // What another try may pass is tried again by the next look; what none can is over.
    if (!(error instanceof Failure) || error.row.retry === 'same_request') throw error;
    await withTx(context.database, scope, (tx) => forgetAskedSetUp(tx, scope, asked));
    throw error;
  }
  await withTx(context.database, scope, (tx) => forgetAskedSetUp(tx, scope, asked));
}

// Undefined while the bank waits, and while nobody knows.
async function answerOf(
  context: Context,
  scope: Scope,
  asked: AskedSetUp,
  giveUp: boolean,
): Promise<SetUpAnswer | undefined> {
  const processor = context.processors.findAt(scope, asked.processorAccount);
  if (processor === undefined || processor.isDown()) return undefined;
  const deadlineMs = performance.now() + context.budgets.callMs;
  const known = await processor.retrieveSetupIntent(asked.processorSetupIntentId, {
    timeoutMs: context.budgets.callMs,
  });
  if (known.kind !== 'requires_action') return setUpAnswerOf(known);
  return giveUp ? setUpAnswerOf(await cancel(processor, asked, deadlineMs)) : undefined;
}

function cancel(
  processor: ProcessorPort,
  { id, processorSetupIntentId }: AskedSetUp,
  deadlineMs: number,
): Promise<SetupOutcome> {
  return processor.cancelSetupIntent(processorSetupIntentId, {
    idempotencyKey: `${id}:${processorSetupIntentId}:given-up`,
    timeoutMs: Math.max(deadlineMs - performance.now(), 0),
  });
}

// True where the card is saved and the session goes on.
function record(
  context: Context,
  scope: Scope,
  sessionId: string,
  asked: AskedSetUp,
  answer: SetUpAnswer,
): Promise<boolean> {
  return withTx(context.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, sessionId);
    if (session === undefined) throw new Failure('checkout_session_not_found');
    // Another request has dealt with the answer, or with another card.
    const current = await findAskedSetUp(tx, scope, session.setupIntentId);
    if (session.status !== 'open' || current?.processorSetupIntentId !== asked.processorSetupIntentId) return false;
    if (current.isSetUp) return true;
    if (!(await customerExists(tx, scope, session))) {
      await forgetAskedSetUp(tx, scope, asked);
      return false;
    }
    if (answer.kind === 'refused') {
      await forgetAskedSetUp(tx, scope, asked);
      await countDecline(tx, scope, sessionId, declineSourceOf(session));
      const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
      await noteSetUpFailure(tx, scope, sessionId, { ...answer, setupIntentId: asked.id, at });
      const nextAction = cardNotSaved(session, answer.code, answer.declineCode);
      await saveSession(tx, scope, session, { ...session, nextAction });
      return false;
    }
    await markSetUp(tx, scope, asked.id, asked.paymentMethodId);
    if (answer.agreement !== undefined) await recordAgreement(tx, scope, asked.paymentMethodId, answer.agreement);
    const [card] = await findChargeableCards(tx, scope, [asked.paymentMethodId]);
    const token = card?.processorPaymentMethodId;
    if (token !== undefined && isConfirmationToken(token) && answer.processorPaymentMethodId !== undefined) {
      await recordConfirmedMethod(tx, scope, {
        ...{ paymentMethodId: asked.paymentMethodId, token, customerId: session.customerId },
        processorPaymentMethodId: answer.processorPaymentMethodId,
      });
    }
    return true;
  });
}
