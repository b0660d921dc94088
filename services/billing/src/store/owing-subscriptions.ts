import { type Db, type Scope, scoped } from '@eligo/postgres';

/** The subscriptions that owe and are charged on a card, the oldest first, at most `most`. */
export async function findOwingOn(db: Db, scope: Scope, paymentMethodId: string, most: number): Promise<string[]> {
  return (await db.rows(select, scope, [paymentMethodId, most])).map(({ id }) => id);
}

// Each half has an index of its own.
const select = scoped<{ id: string }>(
  'subscriptions.owing_on',
  `(select id from subscriptions where account_id = $1 and test_mode = $2 and default_payment_method_id = $3 and status in ('past_due', 'unpaid')
    order by id limit $4)
   union
   (select id from subscriptions where account_id = $1 and test_mode = $2 and backup_payment_method_id = $3 and status in ('past_due', 'unpaid')
    order by id limit $4)
   order by id limit $4`,
);
