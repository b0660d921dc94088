import { type Scope, scoped, type Tx } from '@eligo/postgres';

// In the order customer, payment method, so that two requests cannot each hold what the other waits for.
const take = scoped<{ kind: string }>(
  'checkout.payment_locks_take',
  `insert into checkout.payment_locks as l (account_id, test_mode, kind, id, attempt_id, lease_until)
   select $1, $2, wanted.kind, wanted.id, $3, clock_timestamp() + $4 * interval '1 millisecond'
   from (values ('customer', $5::text), ('payment_method', $6::text)) wanted (kind, id)
   where wanted.id is not null order by wanted.kind
   on conflict (account_id, test_mode, kind, id) do update
     set attempt_id = excluded.attempt_id, lease_until = excluded.lease_until
     where l.lease_until < clock_timestamp() or l.attempt_id = excluded.attempt_id
   returning kind`,
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
  return taken.length === (wanted.customerId === null ? 1 : 2);
}

// In the same order: whoever takes them waits for a row that is being deleted, with the one before it in hand.
const giveBack = scoped(
  'checkout.payment_locks_release',
  `with held as (
     select kind, id from checkout.payment_locks where account_id = $1 and test_mode = $2 and attempt_id = $3
     order by kind, id for update
   )
   delete from checkout.payment_locks l using held
   where l.account_id = $1 and l.test_mode = $2 and l.kind = held.kind and l.id = held.id`,
);

/** Frees what an attempt held. */
export async function releasePaymentLocks(tx: Tx, scope: Scope, attemptId: string): Promise<void> {
  await tx.execute(giveBack, scope, [attemptId]);
}
