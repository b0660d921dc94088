import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

// Every transaction takes locks in this order, so that two cannot wait for each other.
const intoLocks = (
  wanted: string,
) => `insert into checkout.payment_locks as l (account_id, test_mode, kind, id, attempt_id, lease_until)
   select $1, $2, w.kind, w.id, w.attempt_id, clock_timestamp() + w.lease_ms * interval '1 millisecond'
   from (${wanted}) w (kind, id, attempt_id, lease_ms)
   where w.id is not null order by w.kind, w.id
   on conflict (account_id, test_mode, kind, id) do update
     set attempt_id = excluded.attempt_id, lease_until = excluded.lease_until
     where l.lease_until < clock_timestamp() or l.attempt_id = excluded.attempt_id
   returning kind`;

/**
 * The SQL part that takes the locks for the attempts in another part, which has the columns `id`, `customer_id`, `payment_method_id` and `lease_ms`. It
 * returns a row for each lock that it took. `$1` is the account, `$2` the mode.
 */
export function lockText(attempts: string): string {
  return intoLocks(`select 'customer', customer_id, id, lease_ms from ${attempts}
     union all select 'payment_method', payment_method_id, id, lease_ms from ${attempts}`);
}

const take = scoped<{ kind: string }>(
  'checkout.payment_locks_take',
  intoLocks(`values ('customer', $5::text, $3::text, $4::float8), ('payment_method', $6::text, $3::text, $4::float8)`),
);

/**
 * Takes the customer and the payment method for an attempt. False when another live attempt holds one of them: the caller rolls back, and
 * nothing is left behind. A wait for another transaction's row ends at the connection's lock timeout.
 */
export async function takePaymentLocks(
  tx: Tx,
  scope: Scope,
  wanted: { attemptId: string; customerId: string | null; paymentMethodId: string; leaseMs: number },
): Promise<boolean> {
  const taken = await tx.rows(take, scope, [
    wanted.attemptId,
    wanted.leaseMs,
    wanted.customerId,
    wanted.paymentMethodId,
  ]);
  return taken.length === locksWanted(wanted.customerId);
}

/** How many locks an attempt takes: the payment method, and the customer where it has one. */
export function locksWanted(customerId: string | null): number {
  return customerId === null ? 1 : 2;
}

const held = scoped<{ held: boolean }>(
  'checkout.payment_locks_held',
  `select exists (
     select from checkout.payment_locks l
     where l.account_id = $1 and l.test_mode = $2 and l.kind = 'customer' and l.id = $3 and l.lease_until >= clock_timestamp()
   ) or exists (
     select from checkout.payment_locks l
     where l.account_id = $1 and l.test_mode = $2 and l.kind = 'payment_method' and l.id = $4 and l.lease_until >= clock_timestamp()
   ) as held`,
);

/** Whether a live attempt holds the customer or the payment method now. */
export async function arePaymentLocksHeld(
  db: Db,
  scope: Scope,
  wanted: { customerId: string | null; paymentMethodId: string },
): Promise<boolean> {
  return (await db.row(held, scope, [wanted.customerId, wanted.paymentMethodId]))?.held ?? false;
}

/**
 * The SQL parts `held` and `freed`, which release the locks of the attempts that `attemptId` names: a parameter, or a column of the part `from`. Locks are
 * released in the order in which they are taken, so that two transactions cannot wait for each other.
 */
export function unlockText(attemptId: string, from?: string): string {
  return `held as (
     select k.kind, k.id from checkout.payment_locks k${from === undefined ? '' : `, ${from}`}
     where k.account_id = $1 and k.test_mode = $2 and k.attempt_id = ${attemptId} order by k.kind, k.id for update of k
   ), freed as (
     delete from checkout.payment_locks k using held
     where k.account_id = $1 and k.test_mode = $2 and k.kind = held.kind and k.id = held.id
   )`;
}

const release = scoped('checkout.payment_locks_release', `with ${unlockText('$3')} select`);

/** Frees what an attempt held. */
export async function releasePaymentLocks(tx: Tx, scope: Scope, attemptId: string): Promise<void> {
  await tx.execute(release, scope, [attemptId]);
}
