-- Events that more endpoints want than one transaction plans deliveries for. A job plans them in parts, account by account, so that the events of other
-- accounts do not wait behind them. A row goes with its last part. `planned_through`: the last endpoint, by id, for which the delivery is planned.
create table webhooks.fan_outs (
  account_id text collate "C" not null,
  test_mode boolean not null,
  event_id text collate "C" not null,
  planned_through text collate "C" not null default '',
  primary key (account_id, test_mode, event_id),
  foreign key (account_id, test_mode, event_id) references webhooks.events (account_id, test_mode, id) on delete cascade
);
alter table webhooks.fan_outs enable row level security;
alter table webhooks.fan_outs force row level security;
create policy own_rows on webhooks.fan_outs using (account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
create policy finder_reads on webhooks.fan_outs for select to eligo_finder using (true);
grant select on webhooks.fan_outs to eligo_finder;
grant select, insert, delete on webhooks.fan_outs to :"role";
grant update (planned_through) on webhooks.fan_outs to :"role";

-- The accounts and modes after one that have such events.
create function webhooks.fan_out_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language sql stable security definer set search_path = webhooks, pg_temp as $$
  with recursive turns as (
    (select f.account_id, f.test_mode, 1 as turn from webhooks.fan_outs f
      where (f.account_id, f.test_mode) > (after_account collate "C", after_mode)
      order by f.account_id, f.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select f.account_id, f.test_mode from webhooks.fan_outs f
       where (f.account_id, f.test_mode) > (t.account_id, t.test_mode)
       order by f.account_id, f.test_mode limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, true from turns t
$$;
alter function webhooks.fan_out_turns(text, boolean, integer) owner to eligo_finder;
revoke all on function webhooks.fan_out_turns(text, boolean, integer) from public;
grant execute on function webhooks.fan_out_turns(text, boolean, integer) to :"role";
