-- Since when an event waits for its deliveries to be planned.
alter table webhooks.fan_outs add column created_at timestamptz not null default now();
create function webhooks.fan_out_lag_seconds() returns double precision
  language sql stable security definer set search_path = webhooks, pg_temp as $$
  select greatest(0, extract(epoch from clock_timestamp() - (select f.created_at from webhooks.fan_outs f order by f.created_at limit 1)))
$$;
alter function webhooks.fan_out_lag_seconds() owner to eligo_finder;
revoke all on function webhooks.fan_out_lag_seconds() from public;
grant execute on function webhooks.fan_out_lag_seconds() to :"role";
