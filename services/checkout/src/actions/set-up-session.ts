import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { CardAgreement, NotNow, ProcessorPort, Rejected, Unknown } from '@eligo/processor';
import { given as givenOnly, newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { accountToCharge } from '../domain/card-account.ts';
import type { CardSlot } from '../domain/card-kind.ts';
import type { ThreeDSecure } from '../domain/charge-attempt.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import { isConfirmationToken } from '../domain/payment-method.ts';
import type { NextAction, Session } from '../domain/session.ts';
import { declineSourceOf, refusalByDeclines } from '../domain/session-declines.ts';
import { findPageCard } from '../store/page-cards.ts';
import { noteShopperKinds, recordAgreement, recordConfirmedMethod } from '../store/payment-methods.ts';
import { countDecline } from '../store/session-declines.ts';
import { type ChargeableCard, findChargeableCards } from '../store/session-payments.ts';
import { lockSession, saveSession } from '../store/sessions.ts';
import { type GivenToSetUp, noteAskedSetUp } from '../store/set-up-authentications.ts';
import { beginSetupIntent, findBackupOf, markSetUp, takeNextTry } from '../store/setup-intents.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { noteSetUpFailure } from '../store/timeline-causes.ts';
import { finishPaidSession } from './pay-session.ts';
import { isOurOwnFault } from './processor-refusal.ts';
import { requireCustomer } from './require-customer.ts';
import type { ShopperPayment } from './shopper-cards.ts';

interface CardToSetUp {
  readonly paymentMethodId: string | undefined;
  readonly slot?: CardSlot | undefined;
  /** The backup has a set-up intent of its own, beside that of the session, which is begun before. */
  readonly role?: 'standard' | 'backup';
  readonly deadlineMs?: number;
  /** What the shopper of a page gave, to go on with after an authentication. */
  readonly payment?: ShopperPayment;
  /** Whether a set-up session is complete with this card: with the last of those that were given. */
  readonly completes?: boolean;
}

/**
 * Sets a shopper's card up for later use: a setup-mode session moves no money, nor does one that begins with a trial, which only goes on once its card
 * is set up. The set-up at the processor is keyed by the session's set-up intent, so that a repeat after a crash finishes the same one; the key moves on
 * past an error that the processor has stored. Answers with the session, complete or open with `payment_failed`.
 */
export async function setUpSession(
  context: Context,
  scope: Scope,
  found: Session,
  given: CardToSetUp,
): Promise<{ readonly session: Session; readonly isSetUp: boolean }> {
  const { paymentMethodId, slot, role = 'standard', completes = true } = given;
  const deadlineMs = given.deadlineMs ?? performance.now() + context.budgets.callMs;
  const loc = ['body', 'checkout_session', role === 'standard' ? 'payment_method' : 'second_payment_method'];
  if (paymentMethodId === undefined)
    throw Failure.invalid(loc, 'missing', 'A setup session requires a payment method.');
  const [card] = await findChargeableCards(context.database, scope, [paymentMethodId]);
  if (card === undefined) {
    throw Failure.invalid(loc, 'payment_method_not_found', `payment_method_not_found: ${paymentMethodId}`);
  }
  const processor = context.processors.of(scope);
  const processorAccount = accountToCharge(card, processor.account);
  const begun = await withTx(context.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, found.id);
    if (session === undefined) throw new Failure('checkout_session_not_found');
    const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
    const ended = refusalByStatus(session, at);
    if (ended !== undefined) throw ended;
    await requireCustomer(tx, scope, session);
    const backupOf = role === 'backup' ? session.setupIntentId : null;
    if (role === 'backup' && backupOf === null) throw new Error(`Session ${session.id} has no set-up to back up`);
    const earlier = backupOf === null ? undefined : await findBackupOf(tx, scope, backupOf);
    const setupIntentId = (backupOf === null ? session.setupIntentId : earlier?.id) ?? newId('setup_intent');
    const { tries, isDone, displaces } = await beginSetupIntent(tx, scope, {
      id: setupIntentId,
      customerId: session.customerId,
      paymentMethodId: card.id,
      sessionId: session.id,
      at,
      processorAccount,
      backupOf,
    });
    // A card that is set up already asks no bank, so the declines of its session do not refuse it.
    const refusal = isDone ? undefined : refusalByDeclines(session, declineSourceOf(session));
    if (refusal !== undefined) throw refusal;
    // The shopper can no longer answer the bank's question about the other card.
    if (displaces) {
      await countDecline(tx, scope, session.id, declineSourceOf(session));
      await noteSetUpFailure(tx, scope, session.id, { setupIntentId, code: 'authentication_required', at });
    }
    if (backupOf === null) await saveSession(tx, scope, session, { ...session, setupIntentId });
    if (slot !== undefined) await noteShopperKinds(tx, scope, new Map([[card.id, slot === 'health']]));
    return { setupIntentId, tries, isDone, at, threeDSecure: session.details.requestThreeDSecure };
  });
  await context.failpoint('set_up.reserved');
  const verdict: SetUpVerdict = begun.isDone
    ? { kind: 'succeeded', processorPaymentMethodId: undefined }
    : await setUpAtProcessor(context, scope, processor, begun, {
        card,
        deadlineMs,
        isOnPage: given.payment !== undefined,
      });
  return withTx(context.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, found.id);
    if (session === undefined) throw new Failure('checkout_session_not_found');
    if (session.status !== 'open') return { session, isSetUp: false };
    await requireCustomer(tx, scope, session);
    if (verdict.kind === 'asked') {
      if (given.payment === undefined)
        throw new Error(`Set-up ${begun.setupIntentId} needs an authentication, but no page was open`);
      const { shippingDetails } = given.payment;
      await noteAskedSetUp(tx, scope, {
        ...{ id: begun.setupIntentId, paymentMethodId: card.id, at: begun.at },
        processorSetupIntentId: verdict.processorSetupIntentId,
        given: givenToSetUp(given.payment),
      });
      const address = shippingDetails === null ? {} : { shippingDetails };
      return {
        session: await saveSession(tx, scope, session, { ...session, ...address, nextAction: null }),
        isSetUp: false,
      };
    }
    if (verdict.kind === 'declined') {
      const nextAction = cardNotSaved(session, verdict.code, verdict.declineCode);
      await countDecline(tx, scope, session.id, declineSourceOf(session));
      const { setupIntentId, at } = begun;
      await noteSetUpFailure(tx, scope, session.id, { ...verdict, setupIntentId, at });
      return { session: await saveSession(tx, scope, session, { ...session, nextAction }), isSetUp: false };
    }
    await markSetUp(tx, scope, begun.setupIntentId, card.id);
    if (verdict.agreement !== undefined) await recordAgreement(tx, scope, card.id, verdict.agreement);
    if (verdict.processorPaymentMethodId !== undefined && isConfirmationToken(card.processorPaymentMethodId)) {
      await recordConfirmedMethod(tx, scope, {
        ...{ paymentMethodId: card.id, token: card.processorPaymentMethodId, customerId: session.customerId },
        processorPaymentMethodId: verdict.processorPaymentMethodId,
      });
    }
    if (session.mode !== 'setup' || !completes) return { session, isSetUp: true };
    const after: Session = { ...session, status: 'complete', completedAt: begun.at, nextAction: null };
    return {
      session: await finishPaidSession(tx, scope, { session, after, intent: undefined, at: begun.at }),
      isSetUp: true,
    };
  });
}

/** What must happen next where a card could not be saved. */
export function cardNotSaved({ details }: Session, errorCode: string, declineCode?: string): NextAction {
  return {
    type: 'payment_failed',
    message: 'The card could not be saved.',
    errorCode,
    ...givenOnly({ declineCode, url: details.redirectUrl }),
  };
}

function givenToSetUp({ paymentMethodIds, slots = [], ...payment }: ShopperPayment): GivenToSetUp {
  return {
    paymentMethodIds,
    slots: paymentMethodIds.map((_id, i) => slots[i] ?? null),
    refusesHealthCards: payment.refusesHealthCards === true,
    acceptsPart: payment.acceptsPart === true,
    ...givenOnly({ shownSplit: payment.shownSplit }),
  };
}

type SetUpVerdict =
  | {
      readonly kind: 'succeeded';
      readonly processorPaymentMethodId: string | undefined;
      readonly agreement?: CardAgreement | undefined;
    }
  | { readonly kind: 'declined'; readonly code: string; readonly declineCode?: string | undefined }
  | { readonly kind: 'asked'; readonly processorSetupIntentId: string };

// How many answers of 500 that are stored under its keys one request passes by; the next request passes by more.
const mostKeys = 4;

async function setUpAtProcessor(
  context: Context,
  scope: Scope,
  processor: ProcessorPort,
  begun: { readonly setupIntentId: string; readonly tries: number; readonly threeDSecure: ThreeDSecure | undefined },
  {
    card,
    deadlineMs,
    isOnPage,
  }: { readonly card: ChargeableCard; readonly deadlineMs: number; readonly isOnPage: boolean },
): Promise<SetUpVerdict> {
  let { tries } = begun;
  for (let passed = 0; passed < mostKeys; passed++) {
    // What is asked for is part of the key: under one key the processor takes the same parameters alone.
    const asked = begun.threeDSecure === undefined ? '' : `:${begun.threeDSecure}`;
    const key = `${begun.setupIntentId}:${card.id}:${tries}${asked}`;
    const verdict = await trySetUp(processor, key, { card, threeDSecure: begun.threeDSecure }, deadlineMs);
    if (verdict !== 'stored_error') {
      if (verdict.kind !== 'asked') return verdict;
      // Only the shopper who typed the card on a page is there to authenticate.
      const isThere =
        isOnPage && (await findPageCard(context.database, scope, card.processorPaymentMethodId)) !== undefined;
      return isThere ? verdict : { kind: 'declined', code: 'authentication_required' };
    }
    tries = await withTx(context.database, scope, (tx) => takeNextTry(tx, scope, begun.setupIntentId, tries));
  }
  throw unavailable();
}

async function trySetUp(
  processor: ProcessorPort,
  key: string,
  { card, threeDSecure }: { readonly card: ChargeableCard; readonly threeDSecure: ThreeDSecure | undefined },
  deadlineMs: number,
): Promise<SetUpVerdict | 'stored_error'> {
  const remaining = () => Math.max(deadlineMs - performance.now(), 0);
  const { processorPaymentMethodId } = card;
  const isToken = isConfirmationToken(processorPaymentMethodId);
  const made = await processor.createSetupIntent(
    {
      paymentMethod: isToken ? undefined : processorPaymentMethodId,
      customer: card.processorCustomerId ?? undefined,
      threeDSecure,
    },
    { idempotencyKey: `${key}:create`, timeoutMs: remaining() },
  );
  if (made.kind === 'unknown') return orStoredError(made);
  if (made.kind === 'not_now') throw notNow(made);
  if (made.kind === 'declined') return { kind: 'declined', code: made.code, declineCode: made.declineCode };
  if (made.kind === 'rejected') return refused(made);
  const confirmed = await processor.confirmSetupIntent(
    made.setupIntentId,
    isToken ? { confirmationToken: processorPaymentMethodId } : { paymentMethod: processorPaymentMethodId },
    { idempotencyKey: `${key}:confirm`, timeoutMs: remaining() },
  );
  // A repeat is answered as the first request was, whatever the bank was told since.
  const set =
    confirmed.kind === 'requires_action'
      ? await processor.retrieveSetupIntent(made.setupIntentId, { timeoutMs: remaining() })
      : confirmed;
  switch (set.kind) {
    case 'succeeded':
      return { kind: 'succeeded', processorPaymentMethodId: set.paymentMethodId, agreement: set.agreement };
    case 'declined':
      return { kind: 'declined', code: set.code, declineCode: set.declineCode };
    case 'rejected':
      return refused(set);
    case 'requires_action':
      return { kind: 'asked', processorSetupIntentId: made.setupIntentId };
    case 'unknown':
      return orStoredError(set);
    case 'not_now':
      throw notNow(set);
    case 'canceled':
      return { kind: 'declined', code: 'authentication_required' };
    case 'confirmable':
    case 'processing':
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
