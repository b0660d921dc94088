import type pg from 'pg';
import { type Bench, placeOf } from '../bench.ts';
import type { Compared } from '../rounds.ts';
import { againstLimit } from './against-limit.ts';
import { paidSessions, refundSessions } from './sessions.ts';

/** Refunds paid sessions whole. */
export async function refund(bench: Bench): Promise<Compared> {
  const place = await placeOf(bench);
  const compared = await againstLimit(bench, {
    operation: 'refund',
    prepare: (perConnection) => paidSessions(place, perConnection),
    ours: (sessions) => refundSessions(place, sessions),
    counted: 'select count(*) from refunds.refunds',
  });
  await endRefundWatch(bench.postgres);
  return compared;
}

/** Thousands of refunds that a bank might return would be looked at again during the rows that follow, and by a stack that is to be idle. */
export async function endRefundWatch(postgres: pg.Pool): Promise<void> {
  await postgres.query(`update refunds.refund_attempts set status = 'ended' where status = 'accepted'`);
}
