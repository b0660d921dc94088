-- The pairs before an update and those after it are compared as two sets. A join of the two compares each price with every other one: a
-- service's sessions neither hash nor merge, and a plan that was kept since an update of one price expects one. A product of 2,000 prices with
-- metadata could not be archived within five seconds.
create or replace function price_metadata_changed() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
begin
  delete from price_metadata m using (
    select b.account_id, b.test_mode, pair.key, pair.value, b.listing, b.price_id
    from before b cross join lateral jsonb_each_text(b.metadata) pair where b.metadata <> '{}'
    except
    select a.account_id, a.test_mode, pair.key, pair.value, a.listing, a.price_id
    from after a cross join lateral jsonb_each_text(a.metadata) pair where a.metadata <> '{}'
  ) gone
  where m.account_id = gone.account_id and m.test_mode = gone.test_mode and m.key = gone.key and m.value = gone.value
    and m.listing = gone.listing and m.price_id = gone.price_id;
  insert into price_metadata (account_id, test_mode, key, value, listing, price_id)
  select a.account_id, a.test_mode, pair.key, pair.value, a.listing, a.price_id
  from after a cross join lateral jsonb_each_text(a.metadata) pair where a.metadata <> '{}'
  except
  select b.account_id, b.test_mode, pair.key, pair.value, b.listing, b.price_id
  from before b cross join lateral jsonb_each_text(b.metadata) pair where b.metadata <> '{}';
  return null;
end $$;

create or replace function product_metadata_changed() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
begin
  delete from product_metadata m using (
    select b.account_id, b.test_mode, pair.key, pair.value, b.product_id
    from before b cross join lateral jsonb_each_text(b.metadata) pair where b.metadata <> '{}'
    except
    select a.account_id, a.test_mode, pair.key, pair.value, a.product_id
    from after a cross join lateral jsonb_each_text(a.metadata) pair where a.metadata <> '{}'
  ) gone
  where m.account_id = gone.account_id and m.test_mode = gone.test_mode and m.key = gone.key and m.value = gone.value
    and m.product_id = gone.product_id;
  insert into product_metadata (account_id, test_mode, key, value, product_id)
  select a.account_id, a.test_mode, pair.key, pair.value, a.product_id
  from after a cross join lateral jsonb_each_text(a.metadata) pair where a.metadata <> '{}'
  except
  select b.account_id, b.test_mode, pair.key, pair.value, b.product_id
  from before b cross join lateral jsonb_each_text(b.metadata) pair where b.metadata <> '{}';
  return null;
end $$;
