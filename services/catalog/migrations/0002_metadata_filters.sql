-- One row for each metadata pair, so that a filter is an index scan in the list's own order. jsonb's @> cannot do it: under row-level
-- security only leakproof operators reach an index, and it is not one; text equality is.

create table price_metadata (
  account_id text collate "C" not null,
  test_mode boolean not null,
  key text collate "C" not null,
  value text collate "C" not null,
  listing text collate "C" not null,
  price_id text collate "C" not null,
  primary key (account_id, test_mode, key, value, listing, price_id)
);

create table product_metadata (
  account_id text collate "C" not null,
  test_mode boolean not null,
  key text collate "C" not null,
  value text collate "C" not null,
  product_id text collate "C" not null,
  primary key (account_id, test_mode, key, value, product_id)
);

-- A plan for any value is made for the average one, and most values are on a record or two; but a list is walked by values that many records
-- share. Told that values are few, the planner merges the ordered scans instead of comparing each entry with all others.
alter table price_metadata alter column account_id set (n_distinct = 4), alter column key set (n_distinct = 4),
  alter column value set (n_distinct = 4);
alter table product_metadata alter column account_id set (n_distinct = 4), alter column key set (n_distinct = 4),
  alter column value set (n_distinct = 4);

-- Triggers keep the pairs, by statement rather than by row, so that an import of a million prices stays one insert of pairs.
create function price_metadata_added() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
begin
  insert into price_metadata (account_id, test_mode, key, value, listing, price_id)
  select p.account_id, p.test_mode, pair.key, pair.value, p.listing, p.price_id
  from added p cross join lateral jsonb_each_text(p.metadata) pair
  where p.metadata <> '{}';
  return null;
end $$;

create function price_metadata_changed() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
begin
  delete from price_metadata m using before b cross join lateral jsonb_each_text(b.metadata) pair
  where b.metadata <> '{}'
    and m.account_id = b.account_id and m.test_mode = b.test_mode and m.key = pair.key and m.value = pair.value
    and m.listing = b.listing and m.price_id = b.price_id
    and exists (select from after a where a.account_id = b.account_id and a.test_mode = b.test_mode and a.price_id = b.price_id
      and (a.metadata, a.listing) is distinct from (b.metadata, b.listing));
  insert into price_metadata (account_id, test_mode, key, value, listing, price_id)
  select a.account_id, a.test_mode, pair.key, pair.value, a.listing, a.price_id
  from after a
  join before b on b.account_id = a.account_id and b.test_mode = a.test_mode and b.price_id = a.price_id
  cross join lateral jsonb_each_text(a.metadata) pair
  where a.metadata <> '{}' and (a.metadata, a.listing) is distinct from (b.metadata, b.listing);
  return null;
end $$;

create trigger prices_metadata_added after insert on prices
  referencing new table as added for each statement execute function price_metadata_added();
create trigger prices_metadata_changed after update on prices
  referencing old table as before new table as after for each statement execute function price_metadata_changed();

create function product_metadata_added() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
begin
  insert into product_metadata (account_id, test_mode, key, value, product_id)
  select p.account_id, p.test_mode, pair.key, pair.value, p.product_id
  from added p cross join lateral jsonb_each_text(p.metadata) pair
  where p.metadata <> '{}';
  return null;
end $$;

create function product_metadata_changed() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
begin
  delete from product_metadata m using before b cross join lateral jsonb_each_text(b.metadata) pair
  where b.metadata <> '{}'
    and m.account_id = b.account_id and m.test_mode = b.test_mode and m.key = pair.key and m.value = pair.value
    and m.product_id = b.product_id
    and exists (select from after a where a.account_id = b.account_id and a.test_mode = b.test_mode
      and a.product_id = b.product_id and a.metadata is distinct from b.metadata);
  insert into product_metadata (account_id, test_mode, key, value, product_id)
  select a.account_id, a.test_mode, pair.key, pair.value, a.product_id
  from after a
  join before b on b.account_id = a.account_id and b.test_mode = a.test_mode and b.product_id = a.product_id
  cross join lateral jsonb_each_text(a.metadata) pair
  where a.metadata <> '{}' and a.metadata is distinct from b.metadata;
  return null;
end $$;

create trigger products_metadata_added after insert on products
  referencing new table as added for each statement execute function product_metadata_added();
create trigger products_metadata_changed after update on products
  referencing old table as before new table as after for each statement execute function product_metadata_changed();

do $$
declare name text;
begin
  foreach name in array array['price_metadata', 'product_metadata'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format($policy$create policy account_scope on %I using (
      account_id = nullif(current_setting('eligo.account_id', true), '')
      and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean)$policy$, name);
  end loop;
end $$;
