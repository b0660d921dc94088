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

// What a mail is about is found by its key in scalar subqueries: a join could begin with all invoices or subscriptions of the customer.
const these = 'm.account_id = $1 and m.test_mode = $2 and m.id = any($4::text[])';
const select = scoped<{ id: string }>(
  'mails_of_person.find',
  `select m.id from billing.receipt_mails m where ${these} and (
     select (select e.session_id from billing.erased_sessions e where e.account_id = $1 and e.test_mode = $2 and e.session_id = r.checkout_session_id)
     from billing.receipts r where r.account_id = $1 and r.test_mode = $2 and r.id = m.receipt_id) is not null
   union all
   select m.id from billing.notice_mails m where ${these} and $3 = (
     select i.customer_id from billing.invoices i where i.account_id = $1 and i.test_mode = $2 and i.id = m.invoice_id)
   union all
   select m.id from billing.subscription_mails m where ${these} and $3 = (
     select s.customer_id from billing.subscriptions s where s.account_id = $1 and s.test_mode = $2 and s.id = m.subscription_id)`,
);
