-- The finders search the indexes that have the product and the state. A process of the release before calls the same functions.

create or replace function find_prices_by_pairs(
    in_account text, in_mode boolean, wanted_listing text, pairs jsonb, direction text, bound text, most bigint, skipped bigint)
  returns setof text language sql stable security definer
  set search_path = :"schema", pg_temp set max_parallel_workers_per_gather = 0 set enable_seqscan = off set enable_indexscan = off
  as $$
    with found as materialized (
      select p.account_id, p.test_mode, p.listing, p.price_id from prices p
      where price_tokens(p.account_id, p.test_mode, p.listing, p.product_id, p.metadata) @> metadata_tokens($1, $2, $3, $4)
        and p.metadata @> $4 and p.metadata <> '{}')
    select f.price_id from found f
    where f.account_id = $1 and f.test_mode = $2 and f.listing = $3 and $1 = current_setting('eligo.account_id', true)
      and $2 = nullif(current_setting('eligo.test_mode', true), '')::boolean
      and case $5 when 'after' then f.price_id < $6 when 'before' then f.price_id > $6 else true end
    order by case when $5 = 'before' then f.price_id end, f.price_id desc
    limit $7 offset $8
  $$;

create function find_product_prices_by_pairs(
    in_account text, in_mode boolean, wanted_listing text, of_product text, pairs jsonb, direction text, bound text, most bigint, skipped bigint)
  returns setof text language sql stable security definer
  set search_path = :"schema", pg_temp set max_parallel_workers_per_gather = 0 set enable_seqscan = off set enable_indexscan = off
  as $$
    with found as materialized (
      select p.account_id, p.test_mode, p.listing, p.product_id, p.price_id from prices p
      where price_tokens(p.account_id, p.test_mode, p.listing, p.product_id, p.metadata) @> price_tokens($1, $2, $3, $4, $5)
        and p.metadata @> $5 and p.metadata <> '{}')
    select f.price_id from found f
    where f.account_id = $1 and f.test_mode = $2 and f.listing = $3 and f.product_id = $4
      and $1 = current_setting('eligo.account_id', true) and $2 = nullif(current_setting('eligo.test_mode', true), '')::boolean
      and case $6 when 'after' then f.price_id < $7 when 'before' then f.price_id > $7 else true end
    order by case when $6 = 'before' then f.price_id end, f.price_id desc
    limit $8 offset $9
  $$;

-- Of products that are not pending; a null asks for both states.
create or replace function find_products_by_pairs(
    in_account text, in_mode boolean, wanted_active boolean, pairs jsonb, direction text, bound text, most bigint, skipped bigint)
  returns setof text language sql stable security definer
  set search_path = :"schema", pg_temp set max_parallel_workers_per_gather = 0 set enable_seqscan = off set enable_indexscan = off
  as $$
    with found as materialized (
      select p.account_id, p.test_mode, p.active, p.pending, p.product_id from products p
      where (product_tokens(p.account_id, p.test_mode, p.pending, p.active, p.metadata)
            @> product_tokens($1, $2, false, coalesce($3, true), $4)
          or product_tokens(p.account_id, p.test_mode, p.pending, p.active, p.metadata)
            @> product_tokens($1, $2, false, coalesce($3, false), $4))
        and p.metadata @> $4 and p.metadata <> '{}')
    select f.product_id from found f
    where f.account_id = $1 and f.test_mode = $2 and not f.pending and ($3::boolean is null or f.active = $3)
      and $1 = current_setting('eligo.account_id', true) and $2 = nullif(current_setting('eligo.test_mode', true), '')::boolean
      and case $5 when 'after' then f.product_id < $6 when 'before' then f.product_id > $6 else true end
    order by case when $5 = 'before' then f.product_id end, f.product_id desc
    limit $7 offset $8
  $$;

alter function find_product_prices_by_pairs(text, boolean, text, text, jsonb, text, text, bigint, bigint) owner to eligo_finder;
revoke all on function find_product_prices_by_pairs(text, boolean, text, text, jsonb, text, text, bigint, bigint) from public;
grant execute on function find_product_prices_by_pairs to :"role";
