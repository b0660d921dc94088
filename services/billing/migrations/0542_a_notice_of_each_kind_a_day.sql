-- eligo: no-transaction
-- A failure that asks to confirm the payment is mailed also on a day that had the mail of another failure: nobody would confirm it otherwise.
create unique index concurrently if not exists one_notice_of_a_kind_a_day on billing.notice_mails (account_id, test_mode, invoice_id, failure_day, asks_to_confirm);
