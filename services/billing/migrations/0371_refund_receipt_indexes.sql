-- eligo: no-transaction
create unique index concurrently if not exists one_receipt_for_each_purchase on receipts (account_id, test_mode, checkout_session_id) where refund_id is null;
-- A refund has one receipt for each amount that it stood at: a bank may return money later.
create unique index concurrently if not exists one_receipt_for_each_amount_of_a_refund on receipts (account_id, test_mode, refund_id, amount_cents) where refund_id is not null;
create index concurrently if not exists receipts_by_session on receipts (account_id, test_mode, checkout_session_id, id);
