-- `one_receipt_for_each_purchase` holds it now.
alter table billing.receipts drop constraint one_receipt_for_each_session;
-- A refund that a bank returned whole keeps nothing.
alter table billing.receipts drop constraint receipts_amount_cents_check;
alter table billing.receipts add constraint only_a_refund_comes_to_nothing
  check (amount_cents > 0 or (amount_cents = 0 and refund_id is not null)) not valid;
