import { type Db, type Scope, scoped } from '@eligo/postgres';

/** The subscriptions that owe and are charged on a card, and those of which a charge of it is under way: the oldest first, at most `most`. */
export async function findOwingOn(db: Db, scope: Scope, paymentMethodId: string, most: number): Promise<string[]> {
  return (await db.rows(select, scope, [paymentMethodId, most])).map(({ id }) => id);
}

// Each part has an index of its own.
const select = scoped<{ id: string }>(
  'subscriptions.owing_on',
  `(select id from subscriptions where account_id = $1 and test_mode = $2 and default_payment_method_id = $3 and status in ('past_due', 'unpaid')
    order by id limit $4)
   union
   (select id from subscriptions where account_id = $1 and test_mode = $2 and backup_payment_method_id = $3 and status in ('past_due', 'unpaid')
    order by id limit $4)
   union
   (select i.subscription_id from invoice_charges c
    join invoices i on i.account_id = c.account_id and i.test_mode = c.test_mode and i.id = c.invoice_id
    where c.account_id = $1 and c.test_mode = $2 and c.payment_method_id = $3 and c.status = 'pending' and i.subscription_id is not null
    limit $4)
   order by id limit $4`,
);
