import { type Db, type Scope, scoped } from '@eligo/postgres';

/** Those of these mails that went to a customer about subscriptions and invoices, or to an erased shopper with a receipt. A guest has only receipts. */
export async function mailsOfPerson(
  db: Db,
  scope: Scope,
  customerId: string | null,
  mailIds: readonly string[],
): Promise<string[]> {
  return (await db.rows(select, scope, [customerId, mailIds])).map(({ id }) => id);
}

const these = 'm.account_id = $1 and m.test_mode = $2 and m.id = any($4::text[])';
const select = scoped<{ id: string }>(
  'mails_of_person.find',
  `select m.id from billing.receipt_mails m
     join billing.receipts r on r.account_id = $1 and r.test_mode = $2 and r.id = m.receipt_id
     join billing.erased_sessions e on e.account_id = $1 and e.test_mode = $2 and e.session_id = r.checkout_session_id
    where ${these}
   union all
   select m.id from billing.notice_mails m
     join billing.invoices i on i.account_id = $1 and i.test_mode = $2 and i.id = m.invoice_id and i.customer_id = $3
    where ${these}
   union all
   select m.id from billing.subscription_mails m
     join billing.subscriptions s on s.account_id = $1 and s.test_mode = $2 and s.id = m.subscription_id and s.customer_id = $3
    where ${these}`,
);
