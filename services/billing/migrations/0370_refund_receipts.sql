-- Null: the receipt of what was paid. Else of a refund of it, with what the refund's cards keep as the amount.
alter table billing.receipts add column refund_id text collate "C";
