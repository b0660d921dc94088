-- The pairs before an update and those after it are compared as two sets, and each pair that is gone is deleted by its key. A join would be planned
-- for what the first update on a connection changes, one price, and services' sessions neither hash nor merge: it compared each of a product's
-- prices with every other one, and a product of 2,000 with metadata could not be archived within five seconds.
create or replace function price_metadata_changed() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
declare gone record;
begin
  for gone in
    select b.account_id, b.test_mode, pair.key, pair.value, b.listing, b.price_id
    from before b cross join lateral jsonb_each_text(b.metadata) pair where b.metadata <> '{}'
    except
    select a.account_id, a.test_mode, pair.key, pair.value, a.listing, a.price_id
    from after a cross join lateral jsonb_each_text(a.metadata) pair where a.metadata <> '{}'
  loop
    delete from price_metadata m
    where m.account_id = gone.account_id and m.test_mode = gone.test_mode and m.key = gone.key and m.value = gone.value
      and m.listing = gone.listing and m.price_id = gone.price_id;
  end loop;
  insert into price_metadata (account_id, test_mode, key, value, listing, price_id)
  select a.account_id, a.test_mode, pair.key, pair.value, a.listing, a.price_id
  from after a cross join lateral jsonb_each_text(a.metadata) pair where a.metadata <> '{}'
  except
  select b.account_id, b.test_mode, pair.key, pair.value, b.listing, b.price_id
  from before b cross join lateral jsonb_each_text(b.metadata) pair where b.metadata <> '{}';
  return null;
end $$;

create or replace function product_metadata_changed() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
declare gone record;
begin
  for gone in
    select b.account_id, b.test_mode, pair.key, pair.value, b.product_id
    from before b cross join lateral jsonb_each_text(b.metadata) pair where b.metadata <> '{}'
    except
    select a.account_id, a.test_mode, pair.key, pair.value, a.product_id
    from after a cross join lateral jsonb_each_text(a.metadata) pair where a.metadata <> '{}'
  loop
    delete from product_metadata m
    where m.account_id = gone.account_id and m.test_mode = gone.test_mode and m.key = gone.key and m.value = gone.value
      and m.product_id = gone.product_id;
  end loop;
  insert into product_metadata (account_id, test_mode, key, value, product_id)
  select a.account_id, a.test_mode, pair.key, pair.value, a.product_id
  from after a cross join lateral jsonb_each_text(a.metadata) pair where a.metadata <> '{}'
  except
  select b.account_id, b.test_mode, pair.key, pair.value, b.product_id
  from before b cross join lateral jsonb_each_text(b.metadata) pair where b.metadata <> '{}';
  return null;
end $$;
