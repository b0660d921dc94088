import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import { type Cents, cents } from '@eligo/values';
import type { Charging } from '../charging.ts';
import { firstPeriodOf } from '../domain/first-renewal.ts';
import { healthPart } from '../domain/payment-plan.ts';
import type { Session, SessionLine } from '../domain/session.ts';
import { isPaymentInFlight } from '../store/payment-in-flight.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { loadSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';

/** What the checkout page of a session shows. */
export interface Page {
  readonly session: Session;
  readonly lines: readonly SessionLine[];
  readonly paymentInFlight: boolean;
  /** Its time is over, by its own clock, whether or not it was ended already. */
  readonly timeOver: boolean;
  /** What is charged at once: nothing where a trial begins. */
  readonly dueNowCents: Cents;
  /** What of it a health card pays; a second card pays the remainder. */
  readonly healthCardCents: Cents;
  readonly trialEnd: Date | null;
  /** Whose card fields the page shows; undefined where no card can be charged. */
  readonly cardFields: { readonly processor: 'sandbox' | 'stripe'; readonly account: string | undefined } | undefined;
}

/** Reads what the shopper of a session sees. */
export async function readPage(charging: Charging, scope: Scope, sessionId: string): Promise<Page> {
  const { database, clock } = charging;
  // Before the session: once a payment has ended, the session read after it has the outcome.
  const paymentInFlight = await isPaymentInFlight(database, scope, sessionId);
  const [session, lines] = await Promise.all([
    loadSession(database, scope, sessionId),
    loadSessionLines(database, scope, sessionId),
  ]);
  if (session === undefined) throw new Failure('checkout_session_not_found');
  const at = await timeOnClock(database, scope, clock, session.testClockId);
  const period = session.mode === 'subscription' ? firstPeriodOf(session, lines, at) : undefined;
  const trialEnd = period?.trialEnd ?? null;
  const dueNowCents = trialEnd === null ? session.amountTotalCents : cents(0);
  return {
    session,
    lines,
    paymentInFlight,
    timeOver: session.expiresAt <= at,
    dueNowCents,
    healthCardCents: dueNowCents === 0 ? cents(0) : healthPart(dueNowCents, session.amountEligibleCents),
    trialEnd,
    cardFields: cardFieldsOf(charging, scope),
  };
}

function cardFieldsOf({ processors }: Charging, scope: Scope): Page['cardFields'] {
  if (processors.processorOf(scope.testMode ? 'test' : 'live') === undefined) return undefined;
  try {
    const { name, processorAccount } = processors.of(scope);
    return { processor: name, account: processorAccount };
  } catch (error) {
    if (error instanceof Failure && error.code === 'processor_not_configured') return undefined;
    throw error;
  }
}
