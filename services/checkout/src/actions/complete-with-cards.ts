import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import { isId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { CardSlot } from '../domain/card-kind.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import { awaitsLetters } from '../domain/letter.ts';
import { chargesItsCardLater, type Session, type SessionLine } from '../domain/session.ts';
import { declineSourceOf, refusalByDeclines } from '../domain/session-declines.ts';
import { countDecline } from '../store/session-declines.ts';
import { loadSession, lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { adoptPageCard } from './adopt-page-card.ts';
import { completeSession } from './complete-session.ts';
import { createTestPaymentMethod } from './create-test-payment-method.ts';
import { cardKeeper, keepCard } from './keep-card.ts';
import { payOnPage } from './pay-on-page.ts';
import { requireCustomer } from './require-customer.ts';
import { requireOwnCards } from './require-own-cards.ts';
import { type PageTerms, requireWhatIsAsked } from './require-what-is-asked.ts';
import type { CardsOfShopper } from './shopper-cards.ts';
import { submitLetterAnswers } from './submit-letter-answers.ts';

/** Completes a session with the shopper's cards and answers. The first card is kept for the session's customer where it is charged again later. */
export async function completeWithCards(context: Context, scope: Scope, cards: CardsOfShopper): Promise<Session> {
  const session = cards.onPage
    ? (await completeOnPage(context, scope, cards)).session
    : await payWithCards(context, scope, cards);
  const answers = cards.letterAnswers ?? null;
  if (answers !== null && awaitsLetters(session)) await submitLetterAnswers(context, scope, session.id, answers);
  return session;
}

/** What became of a payment on the page. */
export interface CompletedOnPage {
  readonly session: Session;
  /** The session's lines, where the payment is over and nothing else is to come. */
  readonly lines: readonly SessionLine[] | undefined;
}

/** Completes a session with what its shopper gives on its page. With `terms`, refuses before anything is charged a payment without what the page asks for. */
export async function completeOnPage(
  context: Context,
  scope: Scope,
  cards: CardsOfShopper,
  terms?: PageTerms,
): Promise<CompletedOnPage> {
  const page = await context.groups.pages.submit(scope, cards.sessionId);
  if (page !== undefined) {
    if (terms !== undefined) requireWhatIsAsked(page.session, cards, terms);
    const session = await payOnPage(context, scope, page, cards);
    if (session !== undefined) return { session, lines: session.status === 'complete' ? page.lines : undefined };
  }
  return { session: await payWithCards(context, scope, cards), lines: undefined };
}

async function payWithCards(context: Context, scope: Scope, cards: CardsOfShopper): Promise<Session> {
  if (!cards.onPage) await requireOwnCards(context, scope, cards);
  const given = cards.onPage ? await adoptCards(context, scope, cards) : cards;
  const {
    sessionId,
    paymentMethod,
    secondPaymentMethod,
    shippingDetails,
    refusesHealthCards,
    acceptsPart = false,
  } = given;
  const customerId = await cardKeeper(context, scope, sessionId, paymentMethod, cards.onPage === true);
  const paymentMethodIds: string[] = [];
  const slots: (CardSlot | undefined)[] = [];
  const isNamed = (card: string | undefined) => card !== undefined && !isId('payment_method', card);
  const named = [paymentMethod, secondPaymentMethod].some(isNamed);
  const session = named ? await loadSession(context.database, scope, sessionId) : undefined;
  const offSession = session?.setupFutureUse !== 'on_session' || chargesItsCardLater(session);
  for (const [field, card, slot] of [
    ['payment_method', paymentMethod, given.slot],
    ['second_payment_method', secondPaymentMethod, given.secondSlot],
  ] as const) {
    if (card === undefined) continue;
    slots.push(slot);
    if (isId('payment_method', card)) {
      if (customerId !== null) await keepOrCount(context, scope, sessionId, card, customerId);
      paymentMethodIds.push(card);
      continue;
    }
    const cardLoc = ['body', 'checkout_session', field];
    const made = await createTestPaymentMethod(context, scope, { customerId, card, cardLoc, offSession });
    paymentMethodIds.push(made.id);
  }
  return completeSession(context, scope, {
    sessionId,
    paymentMethodIds,
    slots,
    refusesHealthCards,
    acceptsPart,
    shippingDetails,
    shownSplit: cards.shownSplit,
  });
}

// A bank is asked about each card that is kept, and may decline it. A payment in flight takes no other card, so no bank is asked about one in the meantime.
async function keepOrCount(
  context: Context,
  scope: Scope,
  sessionId: string,
  card: string,
  customerId: string,
): Promise<void> {
  if (await context.groups.paymentsInFlight.submit(scope, sessionId))
    throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
  try {
    await keepCard(context, scope, card, customerId);
  } catch (error) {
    if (error instanceof Failure && error.code === 'card_declined') {
      await withTx(context.database, scope, async (tx) => {
        const session = await lockSession(tx, scope, sessionId);
        if (session !== undefined) await countDecline(tx, scope, sessionId, declineSourceOf(session));
      });
    }
    throw error;
  }
}

// From here on they are payment methods like any others. A session that has ended takes no card, nor does one that has used up its declines.
async function adoptCards(context: Context, scope: Scope, cards: CardsOfShopper): Promise<CardsOfShopper> {
  const { sessionId, paymentMethod, secondPaymentMethod } = cards;
  const session = await loadSession(context.database, scope, sessionId);
  if (session === undefined) throw new Failure('checkout_session_not_found');
  const at = await timeOnClock(context.database, scope, context.clock, session.testClockId);
  const refusal = refusalByStatus(session, at) ?? refusalByDeclines(session, 'page');
  if (refusal !== undefined) throw refusal;
  await requireCustomer(context.database, scope, session);
  const adopt = (field: string, processorPaymentMethodId: string | undefined) =>
    processorPaymentMethodId === undefined
      ? undefined
      : adoptPageCard(context, scope, {
          ...{ sessionId, testClockId: session.testClockId, processorPaymentMethodId },
          loc: ['body', 'checkout_session', field],
          offSession: chargesItsCardLater(session),
        });
  return {
    ...cards,
    paymentMethod: await adopt('payment_method', paymentMethod),
    secondPaymentMethod: await adopt('second_payment_method', secondPaymentMethod),
  };
}
