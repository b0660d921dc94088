-- When the next open session and the next task at the catalog fall due, so that the jobs sleep until then. By index, one entry each:
-- sessions_due and catalog_tasks_due.

create function checkout.next_due_session(after timestamptz) returns timestamptz
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select s.expires_at from checkout.sessions s
   where s.status = 'open' and s.test_clock_id is null and s.expires_at > after
   order by s.expires_at limit 1
$$;

create function checkout.next_catalog_task() returns timestamptz
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select t.due_at from checkout.catalog_tasks t order by t.due_at limit 1
$$;

alter function checkout.next_due_session(timestamptz) owner to eligo_finder;
alter function checkout.next_catalog_task() owner to eligo_finder;
revoke all on function checkout.next_due_session(timestamptz), checkout.next_catalog_task() from public;
grant execute on function checkout.next_due_session(timestamptz), checkout.next_catalog_task() to :"role";
