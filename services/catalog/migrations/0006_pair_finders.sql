-- Two frequent pairs that hardly ever meet cannot be found by walking either of them. An inverted index intersects them: of each pair it has
-- the records in a few bytes each. Its operator (@>) is not leakproof, so that row-level security keeps it from every index; functions that
-- return ids alone ask it, as one that is not bound, and compare the account with the context by themselves.

-- A number for each pair, in its account, mode and listing. Two pairs may share one: what is found is compared with the record itself.
create function metadata_tokens(account_id text, test_mode boolean, listing text, metadata jsonb) returns bigint[]
  language sql immutable parallel safe
  return (
    select coalesce(pg_catalog.array_agg(pg_catalog.hashtextextended(
      account_id || case when test_mode then ' test ' else ' live ' end || listing || ' ' || key || '=' || value, 0)), '{}')
    from pg_catalog.jsonb_each_text(metadata)
  );

grant execute on function metadata_tokens to eligo_finder;

create policy pair_finder_read on products for select to eligo_finder using (true);
grant select on products to eligo_finder;

-- Neither an index of the account nor the table itself may be read instead, however few the planner takes an account's records to be; what is
-- found is few, or the newest records would have filled the page.
create function find_prices_by_pairs(
    in_account text, in_mode boolean, wanted_listing text, pairs jsonb, direction text, bound text, most bigint, skipped bigint)
  returns setof text language sql stable security definer
  set search_path = :"schema", pg_temp set max_parallel_workers_per_gather = 0 set enable_seqscan = off set enable_indexscan = off
  as $$
    with found as materialized (
      select p.account_id, p.test_mode, p.listing, p.price_id from prices p
      where metadata_tokens(p.account_id, p.test_mode, p.listing, p.metadata) @> metadata_tokens($1, $2, $3, $4) and p.metadata @> $4
        and p.metadata <> '{}')
    select f.price_id from found f
    where f.account_id = $1 and f.test_mode = $2 and f.listing = $3 and $1 = current_setting('eligo.account_id', true)
      and $2 = nullif(current_setting('eligo.test_mode', true), '')::boolean
      and case $5 when 'after' then f.price_id < $6 when 'before' then f.price_id > $6 else true end
    order by case when $5 = 'before' then f.price_id end, f.price_id desc
    limit $7 offset $8
  $$;

-- Of products that are not pending; a null asks for no state.
create function find_products_by_pairs(
    in_account text, in_mode boolean, wanted_active boolean, pairs jsonb, direction text, bound text, most bigint, skipped bigint)
  returns setof text language sql stable security definer
  set search_path = :"schema", pg_temp set max_parallel_workers_per_gather = 0 set enable_seqscan = off set enable_indexscan = off
  as $$
    with found as materialized (
      select p.account_id, p.test_mode, p.active, p.pending, p.product_id from products p
      where metadata_tokens(p.account_id, p.test_mode, '', p.metadata) @> metadata_tokens($1, $2, '', $4) and p.metadata @> $4
        and p.metadata <> '{}')
    select f.product_id from found f
    where f.account_id = $1 and f.test_mode = $2 and not f.pending and ($3::boolean is null or f.active = $3)
      and $1 = current_setting('eligo.account_id', true) and $2 = nullif(current_setting('eligo.test_mode', true), '')::boolean
      and case $5 when 'after' then f.product_id < $6 when 'before' then f.product_id > $6 else true end
    order by case when $5 = 'before' then f.product_id end, f.product_id desc
    limit $7 offset $8
  $$;

do $$
declare name text;
begin
  foreach name in array array['find_prices_by_pairs(text, boolean, text, jsonb, text, text, bigint, bigint)',
      'find_products_by_pairs(text, boolean, boolean, jsonb, text, text, bigint, bigint)'] loop
    execute format('alter function %s owner to eligo_finder', name);
    execute format('revoke all on function %s from public', name);
  end loop;
end $$;
grant execute on function find_prices_by_pairs, find_products_by_pairs to :"role";
