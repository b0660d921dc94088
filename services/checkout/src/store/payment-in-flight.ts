import { type Db, type Scope, scoped } from '@eligo/postgres';

/** Whether a payment of the session is under way, so that its outcome is still to come. A card that waits for a second one is not. */
export async function isPaymentInFlight(db: Db, scope: Scope, sessionId: string): Promise<boolean> {
  return (await db.row(select, scope, [sessionId]))?.in_flight === true;
}

const select = scoped<{ in_flight: boolean }>(
  'checkout.payment_in_flight',
  `select exists (
     select from checkout.payment_plans p
     where p.account_id = $1 and p.test_mode = $2 and p.session_id = $3 and p.state in ('running', 'releasing')
   ) or exists (
     select from checkout.charge_attempts a
     where a.account_id = $1 and a.test_mode = $2 and a.purpose = 'session' and a.subject_id = $3
       and a.status in ('created', 'sending', 'unknown')
   ) as in_flight`,
);
