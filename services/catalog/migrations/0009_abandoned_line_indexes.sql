-- eligo: no-transaction
create index concurrently if not exists prices_pending on prices (created_at) where pending and inline;
create index concurrently if not exists inline_lines_by_price on inline_lines (account_id, test_mode, price_id);
