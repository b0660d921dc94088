-- eligo: no-transaction
create unique index concurrently if not exists one_mail_of_a_paid_invoice on billing.subscription_mails (account_id, test_mode, invoice_id)
  where invoice_id is not null;
