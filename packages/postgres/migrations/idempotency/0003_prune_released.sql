-- Also a key that nothing was begun under, or whose attempt was given up, is forgotten after 30 days: it has no attempt, and whoever claims a key links
-- what it begins in the same transaction. A key in progress with an attempt stays, since that may have charged.
create policy finder_prunes_released on idempotency_keys for delete to eligo_finder
  using (state = 'in_progress' and attempt_id is null and lease_until < now() and created_at < now() - interval '30 days');

create or replace function prune_idempotency_keys(batch integer) returns bigint
  language sql security definer set search_path = :"schema", pg_temp
  as $$
    with old as (
      select account_id, test_mode, endpoint, key from idempotency_keys
      where (state = 'finished' or (attempt_id is null and lease_until < now())) and created_at < now() - interval '30 days'
      order by created_at limit batch
    ), gone as (
      delete from idempotency_keys k using old
      where (k.account_id, k.test_mode, k.endpoint, k.key) = (old.account_id, old.test_mode, old.endpoint, old.key)
      returning 1
    )
    select count(*) from gone
  $$;
