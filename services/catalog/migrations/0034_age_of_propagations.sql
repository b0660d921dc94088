-- Since when the prices of a product follow it. A later change of the product leaves it: some of the prices have not had the state since then.
alter table propagating_products add column created_at timestamptz not null default now();
create function propagation_lag_seconds() returns double precision
  language sql stable security definer set search_path = :"schema", pg_temp as $$
    select greatest(0, extract(epoch from clock_timestamp() - (select g.created_at from propagating_products g order by g.created_at limit 1)))
  $$;
alter function propagation_lag_seconds() owner to eligo_finder;
revoke all on function propagation_lag_seconds() from public;
grant execute on function propagation_lag_seconds() to :"role";
