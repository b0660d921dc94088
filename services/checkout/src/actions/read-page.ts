import { Failure } from '@eligo/failures';
import type { Db, Scope } from '@eligo/postgres';
import type { ProcessorPort } from '@eligo/processor';
import { type Cents, cents, type ProcessorAccount } from '@eligo/values';
import type { Context } from '../context.ts';
import { firstPeriodOf } from '../domain/first-renewal.ts';
import { awaitsLetters } from '../domain/letter.ts';
import { healthPart } from '../domain/payment-plan.ts';
import { splitVersionOf, takesPromoCodes } from '../domain/repricing.ts';
import { type Session, type SessionLine, takesHealthCards } from '../domain/session.ts';
import { isTrialOver, renewalHealthPart, trialRenewalOf } from '../domain/trial-cards.ts';
import { findPendingAuthentication } from '../store/authentications.ts';
import { hasUnansweredLetter } from '../store/letter-answers.ts';
import { hasLivePlan } from '../store/payment-plans.ts';
import { wasCardGiven } from '../store/repricings.ts';
import { type AskedSetUp, findAskedSetUp } from '../store/set-up-authentications.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { setUpAnswerOf } from './set-up-answer.ts';
import { asksForEmail } from './shopper-email.ts';

/** What the checkout page of a session shows. */
export interface Page {
  readonly session: Session;
  readonly lines: readonly SessionLine[];
  /** Names what is charged, which a payment then agrees to. */
  readonly splitVersion: string | null;
  readonly paymentInFlight: boolean;
  /**
   * The bank of a card that is saved has its answer, and no request has gone on with it: the browser that was asked may be gone. Such a card holds no money, so
   * no job looks for the answer.
   */
  readonly isSetUpAnswered: boolean;
  /** Its time is over, by its own clock, whether or not it was ended already. */
  readonly timeOver: boolean;
  /** What is charged at once: nothing where a trial begins. */
  readonly dueNowCents: Cents;
  /** What of it a health card pays; a second card pays the remainder. */
  readonly healthCardCents: Cents;
  /** The account may charge no health card, so that another one pays everything. */
  readonly refusesHealthCards: boolean;
  readonly trialEnd: Date | null;
  /** What the first renewal after a trial comes to, and what of it a health card pays; undefined where no trial begins. */
  readonly renewal: { readonly totalCents: Cents; readonly healthCardCents: Cents } | undefined;
  /** The secret with which the browser carries out an authentication that the bank waits for. */
  readonly clientSecret: string | undefined;
  /** The reviewer of a letter still needs the shopper's answers. */
  readonly asksLetterQuestions: boolean;
  /** The code of the session can be entered or removed. */
  readonly takesPromoCode: boolean;
  /** The shopper is asked for an e-mail address. */
  readonly collectsEmail: boolean;
  /** Whose card fields the page shows; undefined where no card can be charged. */
  readonly cardFields: { readonly processor: 'sandbox' | 'stripe'; readonly account: string | undefined } | undefined;
}

/** A page does not wait longer for a secret: it asks again a second later. */
const secretWithinMs = 2_000;

/** For whom a page is read. */
export interface PageReader {
  readonly forDocument?: boolean;
  /** True where the account may charge no health cards. */
  readonly refusesHealthCards?: boolean;
}

/** Reads what the shopper of a session sees. For its document, the processor is not asked for a secret, which a document never has. */
export async function readPage(
  context: Context,
  scope: Scope,
  sessionId: string,
  { forDocument = false, refusesHealthCards = false }: PageReader = {},
): Promise<Page> {
  const { database, clock, processors } = context;
  // Before the session: once a payment has ended, the session read after it has the outcome.
  const paymentInFlight = await context.groups.paymentsInFlight.submit(scope, sessionId);
  const page = await context.groups.pages.submit(scope, sessionId);
  if (page === undefined) throw new Failure('checkout_session_not_found');
  const { lines } = page;
  const at = await timeOnClock(database, scope, clock, page.session.testClockId);
  const session = await asAskedNow(database, scope, page.session, at);
  const period = session.mode === 'subscription' ? firstPeriodOf(session, lines, at) : undefined;
  const trialEnd = period?.trialEnd ?? null;
  const renewal = trialRenewalOf(session, lines, at);
  const setUp = session.status === 'open' ? await findAskedSetUp(database, scope, session.setupIntentId) : undefined;
  const setUpAnswer = setUp && !forDocument ? await readSetUp(processors, scope, setUp) : undefined;
  const asked = paymentInFlight && !forDocument ? await askedByBank(context, scope, sessionId) : setUpAnswer?.asked;
  const dueNowCents = trialEnd === null ? session.amountTotalCents : cents(0);
  return {
    session,
    lines,
    splitVersion: splitVersionOf(session, at),
    paymentInFlight: paymentInFlight || setUp !== undefined,
    isSetUpAnswered: setUpAnswer?.isAnswered === true,
    timeOver: session.expiresAt <= at,
    dueNowCents,
    healthCardCents: healthCardCentsOf(session, dueNowCents, refusesHealthCards),
    refusesHealthCards,
    trialEnd,
    asksLetterQuestions: awaitsLetters(session) && (await hasUnansweredLetter(database, scope, sessionId)),
    renewal: renewal && {
      totalCents: renewal.totalCents,
      healthCardCents: refusesHealthCards ? cents(0) : renewalHealthPart(renewal),
    },
    clientSecret: asked?.clientSecret,
    takesPromoCode:
      session.status === 'open' && takesPromoCodes(session) && !(await wasCardGiven(database, scope, session)),
    collectsEmail: await asksForEmail(database, scope, session),
    // The bank of a card is asked where the card was charged, whichever processor account the shop has by now.
    cardFields: cardFieldsOf(asked?.port ?? context.processors.findOf(scope)),
  };
}

/** What the page of a session shows once its payment is over and nothing else is to come, without reading anything again. */
export function completedPage(
  { clock, processors }: Pick<Context, 'clock' | 'processors'>,
  scope: Scope,
  session: Session,
  lines: readonly SessionLine[],
  refusesHealthCards: boolean,
): Page {
  const dueNowCents = session.amountTotalCents;
  const now = clock.now();
  return {
    ...{ session, lines, dueNowCents, splitVersion: splitVersionOf(session, now) },
    ...{ paymentInFlight: false, isSetUpAnswered: false, asksLetterQuestions: false, takesPromoCode: false },
    collectsEmail: false,
    timeOver: session.expiresAt <= now,
    healthCardCents: healthCardCentsOf(session, dueNowCents, refusesHealthCards),
    refusesHealthCards,
    ...{ trialEnd: null, renewal: undefined, clientSecret: undefined },
    cardFields: cardFieldsOf(processors.findOf(scope)),
  };
}

// A second card that was asked for because of a trial's renewal is not asked for once the trial is over: everything is due at once, and no card is held.
async function asAskedNow(db: Db, scope: Scope, session: Session, at: Date): Promise<Session> {
  if (session.nextAction?.type !== 'provide_second_payment_method' || !isTrialOver(session, at)) return session;
  return (await hasLivePlan(db, scope, session.id)) ? session : { ...session, nextAction: null };
}

function healthCardCentsOf(session: Session, dueNowCents: Cents, refusesHealthCards: boolean): Cents {
  const isTaken = dueNowCents > 0 && takesHealthCards(session) && !refusesHealthCards;
  return isTaken ? healthPart(dueNowCents, session.amountEligibleCents) : cents(0);
}

// The secret is read from the processor each time and stored nowhere. Without an answer the page waits and asks again.
async function askedByBank(
  { database, processors }: Context,
  scope: Scope,
  sessionId: string,
): Promise<{ port: ProcessorPort; clientSecret: string } | undefined> {
  const pending = await findPendingAuthentication(database, scope, sessionId);
  return pending && readSecret(processors, scope, pending);
}

// The same of a card that is only saved.
async function readSetUp(
  processors: Context['processors'],
  scope: Scope,
  { isSetUp, processorSetupIntentId, processorAccount }: AskedSetUp,
): Promise<{ asked: { port: ProcessorPort; clientSecret: string } | undefined; isAnswered: boolean }> {
  if (isSetUp) return { asked: undefined, isAnswered: true };
  const unknown = { asked: undefined, isAnswered: false };
  const port = processors.findAt(scope, processorAccount);
  if (port === undefined || port.isDown()) return unknown;
  const known = await port.retrieveSetupIntent(processorSetupIntentId, { timeoutMs: secretWithinMs });
  if (known.kind !== 'requires_action') return { asked: undefined, isAnswered: setUpAnswerOf(known) !== undefined };
  if (known.clientSecret === undefined) return unknown;
  return { asked: { port, clientSecret: known.clientSecret }, isAnswered: false };
}

/** The secret of an intent that waits for its shopper, and the processor that has it; undefined where the bank asks nothing or nothing answers. */
export async function readSecret(
  processors: Context['processors'],
  scope: Scope,
  intent: { readonly processorIntentId: string; readonly processorAccount: ProcessorAccount | null },
): Promise<{ port: ProcessorPort; clientSecret: string } | undefined> {
  const port = processors.findAt(scope, intent.processorAccount);
  if (port === undefined || port.isDown()) return undefined;
  const known = await port.retrieveIntent(intent.processorIntentId, { timeoutMs: secretWithinMs });
  if (known.kind !== 'requires_action' || known.clientSecret === undefined) return undefined;
  return { port, clientSecret: known.clientSecret };
}

/** Whose card fields a page shows. */
export function cardFieldsOf(port: ProcessorPort | undefined): Page['cardFields'] {
  return port && { processor: port.name, account: port.processorAccount };
}
