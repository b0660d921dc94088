-- A price's listing says whether it is for sale while no product of the account propagates: what lists by pairs asks the products of the matches only
-- when one does. With a product, that one is asked once. "offset 0" keeps each a look-up. A process of the release before calls the same functions.
create or replace function find_prices_by_pairs(
    in_account text, in_mode boolean, wanted_listing text, pairs jsonb, direction text, bound text, most bigint, skipped bigint)
  returns setof text language sql stable security definer
  set search_path = :"schema", pg_temp set max_parallel_workers_per_gather = 0 set enable_seqscan = off set enable_indexscan = off
  as $$
    with found as materialized (
      select p.account_id, p.test_mode, p.listing, p.product_id, p.price_id from prices p
      where price_tokens(p.account_id, p.test_mode, p.listing, p.product_id, p.metadata) @> metadata_tokens($1, $2, $3, $4)
        and p.metadata @> $4 and p.metadata <> '{}')
    select f.price_id from found f
    where f.account_id = $1 and f.test_mode = $2 and f.listing = $3 and $1 = current_setting('eligo.account_id', true)
      and $2 = nullif(current_setting('eligo.test_mode', true), '')::boolean
      and (not exists (select from propagating_products g where g.account_id = $1 and g.test_mode = $2 offset 0)
        or exists (select from products r where r.account_id = f.account_id and r.test_mode = f.test_mode and r.product_id = f.product_id
          and r.active offset 0))
      and case $5 when 'after' then f.price_id < $6 when 'before' then f.price_id > $6 else true end
    order by case when $5 = 'before' then f.price_id end, f.price_id desc
    limit $7 offset $8
  $$;

create or replace function find_product_prices_by_pairs(
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
      and exists (select from products r where r.account_id = $1 and r.test_mode = $2 and r.product_id = $4 and r.active offset 0)
      and case $6 when 'after' then f.price_id < $7 when 'before' then f.price_id > $7 else true end
    order by case when $6 = 'before' then f.price_id end, f.price_id desc
    limit $8 offset $9
  $$;
