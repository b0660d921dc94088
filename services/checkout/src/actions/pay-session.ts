import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import { cents } from '@eligo/values';
import { firstRenewal } from '../domain/first-renewal.ts';
import { paidLines } from '../domain/paid-lines.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { findIntents } from '../store/payment-intents.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { recordLinesCaptured } from '../store/session-payments.ts';
import { saveSession } from '../store/sessions.ts';
import { appendSessionEvent } from './payment-events.ts';
import { receiptCommand, wantsReceipt } from './receipt-command.ts';
import { appendRedemptionsEnd } from './redemptions-end.ts';
import { settleLetterFee } from './settle-letter-fee.ts';
import { appendSubscriptionStart } from './subscription-start.ts';

/** The session once a card has paid its leg, or only authorized it. */
export function receiveForSession(session: Session, intent: PaymentIntent, held: boolean): Session {
  const known = session.paymentIntentIds.includes(intent.id);
  return {
    ...session,
    paymentIntentIds: known ? session.paymentIntentIds : [...session.paymentIntentIds, intent.id],
    amountReceivedCents: held
      ? session.amountReceivedCents
      : cents(session.amountReceivedCents + intent.amountReceivedCents),
  };
}

/**
 * Saves a session after a payment step. `intent` is the one that this step captured, if any: the lines that it paid are noted. A session that
 * becomes complete says so, makes its redemptions final and, in subscription mode, has billing start its subscription, with `backupPaymentMethodId` where a
 * trial begins: there no intent names the card.
 */
export async function finishPaidSession(
  tx: Tx,
  scope: Scope,
  step: {
    session: Session;
    after: Session;
    intent: PaymentIntent | undefined;
    at: Date;
    backupPaymentMethodId?: string | undefined;
  },
): Promise<Session> {
  const { session, after, intent, at } = step;
  const captured = intent && recordLinesCaptured(tx, scope, session.id, intent.id, paidLines(session, intent));
  const becomesComplete = session.status !== 'complete' && after.status === 'complete';
  const sells = becomesComplete && after.mode === 'subscription';
  const renewalAsOf = sells ? firstRenewal(after, await loadSessionLines(tx, scope, after.id), at) : after.renewalAsOf;
  const settled = becomesComplete ? await settleLetterFee(tx, scope, after, at) : after;
  const [saved] = await Promise.all([saveSession(tx, scope, session, { ...settled, renewalAsOf }), captured]);
  if (becomesComplete) {
    await Promise.all([
      appendSessionEvent(tx, scope, 'checkout.session.completed', saved, at),
      appendRedemptionsEnd(tx, scope, saved, 'finalize'),
      sells ? appendSubscriptionStart(tx, scope, saved, at, step.backupPaymentMethodId) : undefined,
      wantsReceipt(saved) ? appendReceipt(tx, scope, saved, at) : undefined,
    ]);
  }
  return saved;
}

async function appendReceipt(tx: Tx, scope: Scope, session: Session, at: Date): Promise<void> {
  const intents = await findIntents(tx, scope, session.paymentIntentIds);
  await append(
    tx,
    await receiptCommand(
      tx,
      scope,
      session,
      intents.filter(({ amountReceivedCents }) => amountReceivedCents > 0),
      at,
    ),
  );
}
