import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** A session, and the customer whom it belongs to; null for a guest's. */
export interface OwnedSession {
  readonly id: string;
  readonly customerId: string | null;
}

/** A page of the sessions with an e-mail address, those after one, in the order of their ids. */
export async function sessionsOfEmail(
  db: Db,
  scope: Scope,
  email: string,
  after: string,
  most: number,
): Promise<OwnedSession[]> {
  return (await db.rows(selectByEmail, scope, [email, after, most])).map(ownedSessionOf);
}

/** The session and its customer; undefined for one that does not exist. */
export async function findOwnedSession(db: Db, scope: Scope, id: string): Promise<OwnedSession | undefined> {
  const row = await db.row(selectById, scope, [id]);
  return row && ownedSessionOf(row);
}

/** A page of the sessions whose erasure was begun and not finished, those after one, in the order of their ids. */
export async function unfinishedSessions(db: Db, scope: Scope, after: string, most: number): Promise<string[]> {
  return (await db.rows(selectUnfinished, scope, [after, most])).map(({ session_id: id }) => id);
}

/** Locks those of these sessions that belong to no customer; answers their ids in their order, and which of them are open. */
export async function lockGuestSessions(
  tx: Tx,
  scope: Scope,
  sessionIds: readonly string[],
): Promise<{ ids: string[]; open: string[] }> {
  const rows = await tx.rows(lock, scope, [sessionIds]);
  return { ids: rows.map(({ id }) => id), open: rows.flatMap(({ id, is_open }) => (is_open ? [id] : [])) };
}

/** Records that the erasure of these sessions has begun. They exist. */
export async function insertGuestErasures(
  tx: Tx,
  scope: Scope,
  sessionIds: readonly string[],
  requestedBy: string,
): Promise<void> {
  await tx.execute(insert, scope, [sessionIds, requestedBy]);
}

/** Records that the erasures of these sessions have finished, those of runs that were stopped included: a run erases everything. */
export async function finishGuestErasures(tx: Tx, scope: Scope, sessionIds: readonly string[]): Promise<void> {
  await tx.execute(finish, scope, [sessionIds]);
}

/** Whether an erasure of a session without a customer was begun. The caller holds the session's row. */
export async function isErasedGuest(tx: Tx, scope: Scope, sessionId: string): Promise<boolean> {
  return (await tx.row(selectErased, scope, [sessionId]))?.is_erased === true;
}

function ownedSessionOf({ id, customer_id: customerId }: OwnedRow): OwnedSession {
  return { id, customerId };
}

interface OwnedRow {
  readonly id: string;
  readonly customer_id: string | null;
}

const selectByEmail = scoped<OwnedRow>(
  'guest_erasures.sessions_of_email',
  `select s.id, s.customer_id from checkout.sessions s
   where s.account_id = $1 and s.test_mode = $2 and s.customer_email = $3 and s.id > $4 order by s.id limit $5`,
);

const selectById = scoped<OwnedRow>(
  'guest_erasures.session',
  'select s.id, s.customer_id from checkout.sessions s where s.account_id = $1 and s.test_mode = $2 and s.id = $3',
);

const selectUnfinished = scoped<{ session_id: string }>(
  'guest_erasures.unfinished',
  `select distinct g.session_id from checkout.guest_erasures g
   where g.account_id = $1 and g.test_mode = $2 and g.finished_at is null and g.session_id > $3
   order by g.session_id limit $4`,
);

const selectErased = scoped<{ is_erased: boolean }>(
  'guest_erasures.is_erased',
  `select exists (
     select from checkout.guest_erasures g where g.account_id = $1 and g.test_mode = $2 and g.session_id = $3
   ) as is_erased`,
);

const lock = scoped<{ id: string; is_open: boolean }>(
  'guest_erasures.lock_sessions',
  `select s.id, s.status = 'open' as is_open from checkout.sessions s
   where s.account_id = $1 and s.test_mode = $2 and s.id = any($3::text[]) and s.customer_id is null order by s.id for update`,
);

const insert = scoped<never>(
  'guest_erasures.insert',
  `insert into checkout.guest_erasures (account_id, test_mode, session_id, requested_by)
   select $1, $2, id, $4 from unnest($3::text[]) id`,
);

const finish = scoped<never>(
  'guest_erasures.finish',
  `update checkout.guest_erasures set finished_at = now()
   where account_id = $1 and test_mode = $2 and session_id = any($3::text[]) and finished_at is null`,
);
