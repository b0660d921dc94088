import { type Db, type Scope, scoped } from '@eligo/postgres';

/** Of each session, whether a payment of it is under way, so that its outcome is still to come. A card that waits for a second one is not. */
export async function arePaymentsInFlight(db: Db, scope: Scope, sessionIds: readonly string[]): Promise<boolean[]> {
  const rows = await db.rows(select, scope, [[...new Set(sessionIds)]]);
  const inFlight = new Set(rows.map(({ id }) => id));
  return sessionIds.map((id) => inFlight.has(id));
}

const select = scoped<{ id: string }>(
  'checkout.payments_in_flight',
  `select w.id from unnest($3::text[]) as w (id)
   where exists (
     select from checkout.payment_plans p
     where p.account_id = $1 and p.test_mode = $2 and p.session_id = w.id and p.state in ('running', 'releasing') offset 0
   ) or exists (
     select from checkout.charge_attempts a
     where a.account_id = $1 and a.test_mode = $2 and a.purpose = 'session' and a.subject_id = w.id
       and a.status in ('created', 'sending', 'unknown') offset 0
   )`,
);
