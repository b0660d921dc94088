import { type Db, type Scope, scoped } from '@eligo/postgres';
import type { CreatedRange } from '../domain/created-range.ts';

/** More are not read: a page of a list holds as many rows in memory. */
export const mostOutOfTime = 200;

const outOfTime = scoped<{ id: string }>(
  'sessions.out_of_time',
  `select s.id from checkout.sessions s
   where s.account_id = $1 and s.test_mode = $2 and not checkout.id_tells_time(s.id, s.created_at) and s.created_at >= $3 and s.created_at < $4
   limit ${mostOutOfTime + 1}`,
);

/**
 * The sessions that were created in a range and whose ids tell another time; undefined where these are more than `mostOutOfTime`, which only those of test clocks
 * are. The ids of all others are `sessionIdsOf` the range.
 */
export async function sessionsOutOfTime(
  db: Db,
  scope: Scope,
  { fromMs, untilMs }: CreatedRange,
): Promise<string[] | undefined> {
  const rows = await db.rows(outOfTime, scope, [timeOf(fromMs), timeOf(untilMs)]);
  return rows.length > mostOutOfTime ? undefined : rows.map(({ id }) => id);
}

function timeOf(ms: number): Date | string {
  if (Number.isFinite(ms)) return new Date(ms);
  return ms > 0 ? 'infinity' : '-infinity';
}
