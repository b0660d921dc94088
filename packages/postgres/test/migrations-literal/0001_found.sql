create function :"schema".found() returns integer language sql security definer set search_path = pg_temp as $$ select 1 $$;
do $$ begin execute format('alter function %s.found owner to eligo_finder', current_schema()); end $$;
revoke all on function found() from public;
grant execute on function found() to eligo_orders;
