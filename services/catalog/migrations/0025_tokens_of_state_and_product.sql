-- What the inverted indexes hold of a record, besides its pairs: a price has its product, and the pairs of a product have the product's state.
create function price_tokens(account_id text, test_mode boolean, listing text, product_id text, metadata jsonb) returns bigint[]
  language sql immutable parallel safe
  return pg_catalog.array_append(
    metadata_tokens(account_id, test_mode, listing, metadata),
    pg_catalog.hashtextextended(
      account_id || case when test_mode then ' test ' else ' live ' end || listing || ' of ' || product_id, 0));

create function product_tokens(account_id text, test_mode boolean, pending boolean, active boolean, metadata jsonb) returns bigint[]
  language sql immutable parallel safe
  return metadata_tokens(
    account_id, test_mode, case when pending then 'pending' when active then 'active' else 'archived' end, metadata);

grant execute on function price_tokens, product_tokens to eligo_finder;
