import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** Notes that the page of a session is open. Within ten seconds of the last note it writes nothing. */
export async function notePageVisit(tx: Tx, scope: Scope, sessionId: string, at: Date): Promise<void> {
  await tx.execute(note, scope, [sessionId, at]);
}

/** Whether the page of a session was open at `since` or later. */
export async function wasPageSeen(db: Db, scope: Scope, sessionId: string, since: Date): Promise<boolean> {
  return (await db.row(seen, scope, [sessionId, since])) !== undefined;
}

const note = scoped<never>(
  'page_visits.note',
  `insert into checkout.page_visits as v (account_id, test_mode, session_id, seen_at) values ($1, $2, $3, $4)
   on conflict (account_id, test_mode, session_id) do update set seen_at = excluded.seen_at
   where v.seen_at <= excluded.seen_at - interval '10 seconds'`,
);

const seen = scoped<{ session_id: string }>(
  'page_visits.seen',
  `select session_id from checkout.page_visits where account_id = $1 and test_mode = $2 and session_id = $3 and seen_at >= $4`,
);
