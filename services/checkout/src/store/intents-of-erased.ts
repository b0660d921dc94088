import { type Scope, scoped, type Tx } from '@eligo/postgres';

/** A page of a customer's sessions, those after one; answers their ids in their order. */
export async function sessionsOfCustomer(
  tx: Tx,
  scope: Scope,
  customerId: string,
  after: string,
  most: number,
): Promise<string[]> {
  return (await tx.rows(selectSessions, scope, [customerId, after, most])).map(({ id }) => id);
}

/** The payment intents of these sessions, at most a few of each. */
export async function intentsOfSessions(tx: Tx, scope: Scope, sessionIds: readonly string[]): Promise<string[]> {
  return (await tx.rows(ofSessions, scope, [sessionIds])).map(({ id }) => id);
}

/** A page of a customer's payment intents, renewals included, those after one; answers their ids in their order. */
export async function intentsOfCustomer(
  tx: Tx,
  scope: Scope,
  customerId: string,
  after: string,
  most: number,
): Promise<string[]> {
  return (await tx.rows(ofCustomer, scope, [customerId, after, most])).map(({ id }) => id);
}

const selectSessions = scoped<{ id: string }>(
  'erasures.sessions_of_customer',
  `select s.id from checkout.sessions s where s.account_id = $1 and s.test_mode = $2 and s.customer_id = $3 and s.id > $4
   order by s.id limit $5`,
);

const ofSessions = scoped<{ id: string }>(
  'erasures.intents_of_sessions',
  `select i.id from checkout.payment_intents i where i.account_id = $1 and i.test_mode = $2 and i.session_id = any($3::text[])`,
);

const ofCustomer = scoped<{ id: string }>(
  'erasures.intents_of_customer',
  `select i.id from checkout.payment_intents i where i.account_id = $1 and i.test_mode = $2 and i.customer_id = $3 and i.id > $4
   order by i.id limit $5`,
);
