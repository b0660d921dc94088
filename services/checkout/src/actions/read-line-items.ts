import { Failure } from '@eligo/failures';
import type { Db, Scope } from '@eligo/postgres';
import { type Cents, cents } from '@eligo/values';
import type { Context } from '../context.ts';
import { disputedOfLines } from '../domain/disputed-lines.ts';
import { letterFeesGivenBack } from '../domain/letter-fee.ts';
import type { LineStanding } from '../domain/line-standing.ts';
import type { Session } from '../domain/session.ts';
import { findIntents } from '../store/payment-intents.ts';
import { loadRefundableLines } from '../store/refund-facts.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { loadSession } from '../store/sessions.ts';

/** All lines of a session, in the cart's order, with what disputes hold of each and its part of a letter fee that is given back. Throws `checkout_session_not_found`. */
export async function readLineItems(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  sessionId: string,
): Promise<LineStanding[]> {
  const [session, lines] = await Promise.all([
    loadSession(database, scope, sessionId),
    loadSessionLines(database, scope, sessionId),
  ]);
  if (session === undefined) throw new Failure('checkout_session_not_found');
  const held = await readDisputed(database, scope, session);
  const letterFees = letterFeesGivenBack(session, lines);
  return lines.map((line) => ({
    ...line,
    amountDisputedCents: held.get(line.id) ?? cents(0),
    letterFee: letterFees.get(line.id),
  }));
}

async function readDisputed(database: Db, scope: Scope, session: Session): Promise<ReadonlyMap<string, Cents>> {
  if (session.amountDisputedCents === 0) return new Map();
  const [lines, cards] = await Promise.all([
    loadRefundableLines(database, scope, [session.id]),
    findIntents(database, scope, session.paymentIntentIds),
  ]);
  return disputedOfLines(lines, cards);
}
