-- eligo: no-transaction
-- Without fastupdate: a list of entries that wait to be sorted in would be read by every search.
create index concurrently if not exists prices_metadata_tokens on prices
  using gin (metadata_tokens(account_id, test_mode, listing, metadata)) with (fastupdate = off) where metadata <> '{}';
create index concurrently if not exists products_metadata_tokens on products
  using gin (metadata_tokens(account_id, test_mode, '', metadata)) with (fastupdate = off) where metadata <> '{}';
