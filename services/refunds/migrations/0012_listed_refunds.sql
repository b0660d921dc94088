-- eligo: no-transaction
-- The refunds that are listed, by a column that does not change: an index whose condition names the status has a new entry for each move of a
-- refund, and so has every other index of the row.
create index concurrently if not exists refunds_listed on refunds.refunds (account_id, test_mode, id) where amount_cents is not null;
drop index concurrently if exists refunds.refunds_shown;
