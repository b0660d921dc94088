import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { customerExistsText } from './customers.ts';

/** Stores the e-mail address that a shopper typed, beside the mark that the shop did not give it. Writes nothing to a session that has ended, or that has the shop's own address. */
export async function recordShopperEmail(tx: Tx, scope: Scope, sessionId: string, email: string): Promise<void> {
  await tx.execute(record, scope, [sessionId, email]);
}

/** Marks the customer of a session as made of its shopper. The caller has written the session's row. */
export async function markCustomerFromShopper(tx: Tx, scope: Scope, sessionId: string): Promise<void> {
  await tx.execute(mark, scope, [sessionId]);
}

const mark = scoped<never>(
  'sessions.mark_customer_from_shopper',
  `update checkout.sessions set details = details || '{"customerFromShopper": true}'
   where account_id = $1 and test_mode = $2 and id = $3`,
);

const record = scoped<never>(
  'sessions.record_shopper_email',
  `update checkout.sessions s set customer_email = $4, details = s.details || '{"emailFromShopper": true}', version = s.version + 1
   where s.account_id = $1 and s.test_mode = $2 and s.id = $3 and s.status = 'open'
     and (s.customer_email is null or s.details ? 'emailFromShopper') and ${customerExistsText}`,
);
