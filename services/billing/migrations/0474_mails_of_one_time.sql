-- eligo: no-transaction
-- Two invoices of a subscription on a test clock may be paid at one time, each with its mail.
create unique index concurrently if not exists one_mail_of_a_kind_time_and_invoice on billing.subscription_mails
  (account_id, test_mode, subscription_id, kind, about, coalesce(invoice_id, ''));
