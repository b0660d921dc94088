import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { customerExistsText } from './customers.ts';

/** Stores the e-mail address that a shopper typed, beside the mark that the shop did not give it. Writes nothing to a session that has ended, or that has the shop's own address. */
export async function recordShopperEmail(tx: Tx, scope: Scope, sessionId: string, email: string): Promise<void> {
  await tx.execute(record, scope, [sessionId, email]);
}

const record = scoped<never>(
  'sessions.record_shopper_email',
  `update checkout.sessions s set customer_email = $4, details = s.details || '{"emailFromShopper": true}', version = s.version + 1
   where s.account_id = $1 and s.test_mode = $2 and s.id = $3 and s.status = 'open'
     and (s.customer_email is null or s.details ? 'emailFromShopper') and ${customerExistsText}`,
);
