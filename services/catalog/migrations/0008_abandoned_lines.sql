-- What the lines of a session made that never came to be is removed. A session's creation can be repeated for thirty days, under its key.

-- The index that is made next serves it: who waits for a session, oldest first. Ids alone; who removes one does it in its account and mode.
create policy abandoned_line_read on inline_lines for select to eligo_finder using (true);
grant select on inline_lines to eligo_finder;
create function find_abandoned_lines(made_before timestamptz, most integer)
  returns table (account_id text, test_mode boolean, session_id text, line_index integer, price_id text)
  language sql stable security definer set search_path = :"schema", pg_temp as $$
    select l.account_id, l.test_mode, l.session_id, l.line_index, l.price_id
    from (select p.account_id, p.test_mode, p.price_id from prices p
          where p.pending and p.inline and p.created_at < made_before order by p.created_at limit most) waiting
    join inline_lines l on l.account_id = waiting.account_id and l.test_mode = waiting.test_mode and l.price_id = waiting.price_id
  $$;
alter function find_abandoned_lines owner to eligo_finder;
revoke all on function find_abandoned_lines from public;
grant execute on function find_abandoned_lines to :"role";

-- Nothing that was ever for sale can be deleted.
create function refuse_unless_pending() returns trigger language plpgsql as $$
begin
  raise exception 'a row of % that is not pending was deleted', tg_table_name using errcode = 'check_violation';
end $$;
create trigger prices_deleted_pending before delete on prices for each row when (not old.pending) execute function refuse_unless_pending();
create trigger products_deleted_pending before delete on products for each row when (not old.pending) execute function refuse_unless_pending();
grant delete on prices, products, inline_lines to :"role";

create function product_metadata_removed() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
begin
  delete from product_metadata m using removed r cross join lateral jsonb_each_text(r.metadata) pair
  where m.account_id = r.account_id and m.test_mode = r.test_mode and m.key = pair.key and m.value = pair.value and m.product_id = r.product_id;
  return null;
end $$;
create trigger products_metadata_removed after delete on products
  referencing old table as removed for each statement execute function product_metadata_removed();

create function price_metadata_removed() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
begin
  delete from price_metadata m using removed r cross join lateral jsonb_each_text(r.metadata) pair
  where m.account_id = r.account_id and m.test_mode = r.test_mode and m.key = pair.key and m.value = pair.value
    and m.listing = r.listing and m.price_id = r.price_id;
  return null;
end $$;
create trigger prices_metadata_removed after delete on prices
  referencing old table as removed for each statement execute function price_metadata_removed();
