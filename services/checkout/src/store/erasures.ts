import { type Scope, scoped, type Tx } from '@eligo/postgres';

/** Records that an erasure has begun; answers its number. The customer is there. */
export async function insertErasure(tx: Tx, scope: Scope, customerId: string, requestedBy: string): Promise<bigint> {
  const row = await tx.row(insert, scope, [customerId, requestedBy]);
  if (row === undefined) throw new Error('The erasure was not recorded');
  return row.number;
}

export async function finishErasure(tx: Tx, scope: Scope, customerId: string, number: bigint): Promise<void> {
  await tx.execute(finish, scope, [customerId, number]);
}

/** Erases what names a customer that was deleted before. False when there is no such customer. */
export async function eraseDeletedCustomer(tx: Tx, scope: Scope, customerId: string): Promise<boolean> {
  return (await tx.execute(eraseCustomer, scope, [customerId])) === 1;
}

/** Erases a page of a customer's sessions, those after one; answers their ids in their order, and which of them are open. */
export async function eraseSessions(
  tx: Tx,
  scope: Scope,
  customerId: string,
  after: string,
  most: number,
): Promise<{ ids: string[]; open: string[] }> {
  const locked = await tx.rows(lockSessions, scope, [customerId, after, most]);
  const ids = locked.map(({ id }) => id);
  await eraseNames(tx, scope, ids);
  return { ids, open: locked.flatMap(({ id, is_open }) => (is_open ? [id] : [])) };
}

/** Erases what names the shopper in these sessions. The caller holds their rows. */
export async function eraseNames(tx: Tx, scope: Scope, sessionIds: readonly string[]): Promise<void> {
  await tx.execute(clearSessions, scope, [sessionIds]);
}

/** Deletes what shoppers answered for the letters of these sessions; answers for how many letters. */
export function eraseAnswers(tx: Tx, scope: Scope, sessionIds: readonly string[]): Promise<number> {
  return tx.execute(deleteAnswers, scope, [sessionIds]);
}

/** Erases the billing details of cards that paid these sessions, or were typed on their pages, and belong to the customer or to nobody. */
export async function eraseCardsOfSessions(
  tx: Tx,
  scope: Scope,
  customerId: string,
  sessionIds: readonly string[],
): Promise<void> {
  await tx.execute(clearCardsOfSessions, scope, [customerId, sessionIds]);
}

/**
 * Erases the billing details of a page of the cards that a customer typed on the pages of invoices and that belong to nobody, those after one; answers their ids in their order.
 */
export async function eraseTypedCards(
  tx: Tx,
  scope: Scope,
  customerId: string,
  after: string,
  most: number,
): Promise<string[]> {
  const typed = (await tx.rows(listTyped, scope, [customerId, after, most])).map(({ id }) => id);
  await tx.execute(clearUnowned, scope, [typed]);
  return typed;
}

/** Erases the billing details of a page of a customer's cards, those after one; answers their ids in their order. */
export async function eraseCards(
  tx: Tx,
  scope: Scope,
  customerId: string,
  after: string,
  most: number,
): Promise<string[]> {
  const locked = (await tx.rows(lockCards, scope, [customerId, after, most])).map(({ id }) => id);
  await tx.execute(clearCards, scope, [locked]);
  return locked;
}

const insert = scoped<{ number: bigint }>(
  'erasures.insert',
  'insert into checkout.erasures (account_id, test_mode, customer_id, requested_by) values ($1, $2, $3, $4) returning number',
);

const finish = scoped<never>(
  'erasures.finish',
  `update checkout.erasures set finished_at = now() where account_id = $1 and test_mode = $2 and customer_id = $3 and number = $4`,
);

const eraseCustomer = scoped<never>(
  'erasures.customer',
  `update checkout.customers set first_name = null, last_name = null, email = null, phone = null, employer = null, shipping = null,
     metadata = '{}', version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3 and deleted_at is not null`,
);

const lockSessions = scoped<{ id: string; is_open: boolean }>(
  'erasures.lock_sessions',
  `select s.id, s.status = 'open' as is_open from checkout.sessions s where s.account_id = $1 and s.test_mode = $2 and s.customer_id = $3 and s.id > $4
   order by s.id limit $5 for update`,
);

const clearSessions = scoped<never>(
  'erasures.sessions',
  `update checkout.sessions set customer_email = null, shipping_details = null, storefront_payment_details = null, metadata = '{}',
     details = details - 'defaults', version = version + 1
   where account_id = $1 and test_mode = $2 and id = any($3::text[])`,
);

const deleteAnswers = scoped<never>(
  'erasures.answers',
  `delete from checkout.letter_answers a using checkout.letters l
   where l.account_id = $1 and l.test_mode = $2 and l.session_id = any($3::text[])
     and a.account_id = $1 and a.test_mode = $2 and a.letter_id = l.id`,
);

const clearCardsOfSessions = scoped<never>(
  'erasures.cards_of_sessions',
  `update checkout.payment_methods m set billing_details = '{}', metadata = '{}', version = m.version + 1
   from (select i.payment_method_id from checkout.payment_intents i
          where i.account_id = $1 and i.test_mode = $2 and i.session_id = any($4::text[])
         union
         select p.payment_method_id from checkout.page_cards p
          where p.account_id = $1 and p.test_mode = $2 and p.session_id = any($4::text[])) used
   where m.account_id = $1 and m.test_mode = $2 and m.id = used.payment_method_id
     and (m.customer_id is null or m.customer_id = $3)`,
);

const listTyped = scoped<{ id: string }>(
  'erasures.typed_cards',
  `select p.payment_method_id as id from checkout.page_cards p
   where p.account_id = $1 and p.test_mode = $2 and p.customer_id = $3 and p.payment_method_id > $4
   order by p.payment_method_id limit $5`,
);

const clearUnowned = scoped<never>(
  'erasures.clear_typed_cards',
  `update checkout.payment_methods set billing_details = '{}', metadata = '{}', version = version + 1
   where account_id = $1 and test_mode = $2 and id = any($3::text[]) and customer_id is null`,
);

const lockCards = scoped<{ id: string }>(
  'erasures.lock_cards',
  `select m.id from checkout.payment_methods m where m.account_id = $1 and m.test_mode = $2 and m.customer_id = $3 and m.id > $4
   order by m.id limit $5 for update`,
);

const clearCards = scoped<never>(
  'erasures.cards',
  `update checkout.payment_methods set billing_details = '{}', metadata = '{}', version = version + 1
   where account_id = $1 and test_mode = $2 and id = any($3::text[])`,
);
