-- eligo: no-transaction
-- Without fastupdate: a list of entries that wait to be sorted in would be read by every search.
create index concurrently if not exists prices_tokens on catalog.prices
  using gin (catalog.price_tokens(account_id, test_mode, listing, product_id, metadata)) with (fastupdate = off) where metadata <> '{}';
create index concurrently if not exists products_tokens on catalog.products
  using gin (catalog.product_tokens(account_id, test_mode, pending, active, metadata)) with (fastupdate = off) where metadata <> '{}';
