import { Failure } from '@eligo/failures';
import { type Database, type Scope, withTx } from '@eligo/postgres';
import { needsLetter } from '../domain/eligibility.ts';
import { type Substantiation, substantiate } from '../domain/substantiation.ts';
import { lettersOfSession } from '../store/letters.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { loadSession } from '../store/sessions.ts';
import { chargedCards, findEligibilityRecord, lineCaptures, lineRefunds } from '../store/substantiation.ts';

/** Reads what proves the eligibility of what a session's cards paid, from one snapshot, so that its amounts agree with each other. */
export async function readSubstantiation(database: Database, scope: Scope, sessionId: string): Promise<Substantiation> {
  return withTx(
    database,
    scope,
    async (tx) => {
      const session = await loadSession(tx, scope, sessionId);
      if (session === undefined) throw new Failure('checkout_session_not_found');
      const lines = await loadSessionLines(tx, scope, sessionId);
      const isLettered = lines.some((line) => needsLetter(line.eligibilityClass));
      const refunds = await lineRefunds(tx, scope, session.refundIds, refundsShown + 1);
      return substantiate({
        ...{ session, lines },
        record: await findEligibilityRecord(tx, scope, sessionId),
        letters: isLettered ? await lettersOfSession(tx, scope, sessionId) : new Map(),
        payments: await chargedCards(tx, scope, sessionId),
        captures: await lineCaptures(tx, scope, sessionId),
        refunds: refunds.slice(0, refundsShown),
        hasMoreRefunds: refunds.length > refundsShown,
      });
    },
    { isolation: 'repeatable read' },
  );
}

/** A hundred lines that were refunded ten times each. */
const refundsShown = 1_000;
