import { wakeRelayAfterCommit } from '@eligo/events';
import { commitBehind, type Scope, type Tx } from '@eligo/postgres';
import {
  loadPaidCards,
  loadRefundableLines,
  loadRefundStandings,
  lockRefundedSessions,
} from '../store/refund-facts.ts';
import { writeReservations } from '../store/refund-reservations.ts';
import {
  type GroupedReservation,
  plannedReservation,
  type RefundReservation,
  type ReservedRefund,
} from './planned-reservation.ts';
import type { Reserving } from './reserve-refund.ts';

/**
 * Reserves several plain refunds together: each of a session of its own, which no test clock moves and no charge is unsettled for, under an id that
 * nobody has used. Returns undefined if one of them is not plain, and throws if one is refused: the caller rolls back, and `reserveRefundAlone`
 * decides each one.
 */
export async function reserveRefunds(
  { clock }: Pick<Reserving, 'clock'>,
  tx: Tx,
  scope: Scope,
  grouped: readonly GroupedReservation[],
): Promise<ReservedRefund[] | undefined> {
  const subjects = grouped.flatMap(({ reservation }) => subjectOf(reservation));
  const sessionIds = [...new Set(subjects.map(({ subjectId }) => subjectId))];
  if (sessionIds.length < grouped.length) return undefined;
  // Read behind the locks, in one round trip, as of when they are held.
  const [sessions, standings, cards, lines] = await Promise.all([
    lockRefundedSessions(tx, scope, sessionIds),
    loadRefundStandings(tx, scope, 'session', subjects),
    loadPaidCards(tx, scope, sessionIds),
    loadRefundableLines(tx, scope, sessionIds),
  ]);
  const byId = new Map(sessions.map((refunded) => [refunded.session.id, refunded]));
  const planned = [];
  for (const { reservation, inContext } of grouped) {
    const { refundId, sessionId } = reservation;
    const refunded = byId.get(sessionId ?? '');
    const standing = standings.get(refundId);
    if (refunded === undefined || standing === undefined || refunded.session.testClockId !== null) return undefined;
    if (standing.isReserved || standing.isClosed || standing.isCharging) return undefined;
    const subject = {
      refunded,
      cards: cards.filter(({ intent }) => intent.sessionId === sessionId),
      lines: lines.filter((line) => line.sessionId === sessionId),
    };
    planned.push(inContext(() => plannedReservation(scope, reservation, subject, clock.now())));
  }
  const written = writeReservations(
    tx,
    scope,
    planned.map(({ write }) => write),
  );
  commitBehind(tx);
  await written;
  wakeRelayAfterCommit(tx);
  return planned.map(({ reserved }) => reserved);
}

// None where the request names more than a session.
function subjectOf({ refundId, sessionId, paymentIntentId, instruction }: RefundReservation) {
  if (sessionId === null || paymentIntentId !== null || instruction.methods.length > 0) return [];
  return [{ refundId, subjectId: sessionId }];
}
