-- Events older than they are kept, the oldest first: by their ids, so that whoever forgets them looks at nothing that is kept.
create function webhooks.old_events(before timestamptz, most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = webhooks, pg_temp as $$
  select e.account_id, e.test_mode, e.id from webhooks.events e where e.created_at < before order by e.created_at limit most
$$;
alter function webhooks.old_events(timestamptz, integer) owner to eligo_finder;
revoke all on function webhooks.old_events(timestamptz, integer) from public;
grant execute on function webhooks.old_events(timestamptz, integer) to eligo_webhooks;
