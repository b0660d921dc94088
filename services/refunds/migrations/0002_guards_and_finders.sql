-- What no code path may do to a refund, and how due work is found across accounts.

-- The moves are those of domain/refund-states.ts; a test tries every pair in both.
create function refunds.guard_refund() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and (old.status, new.status) not in (
    ('requested', 'pending'), ('requested', 'refused'),
    ('pending', 'requires_action'), ('pending', 'succeeded'), ('pending', 'failed'), ('pending', 'canceled'),
    ('requires_action', 'pending'), ('requires_action', 'succeeded'), ('requires_action', 'failed'), ('requires_action', 'canceled'),
    ('succeeded', 'failed')
  ) then
    raise exception 'a refund does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'refund_state_table';
  end if;
  if old.amount_cents is distinct from new.amount_cents and old.amount_cents is not null then
    raise exception 'a refund''s amount does not change'
      using errcode = 'check_violation', constraint = 'refund_amount_is_final';
  end if;
  return new;
end $$;
create trigger guard_refund before update on refunds.refunds for each row execute function refunds.guard_refund();

create function refunds.guard_refund_item() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and (old.status, new.status) not in (
    ('pending', 'requires_action'), ('pending', 'succeeded'), ('pending', 'releasing'),
    ('requires_action', 'pending'), ('requires_action', 'succeeded'), ('requires_action', 'releasing'),
    ('succeeded', 'releasing'), ('releasing', 'failed'), ('releasing', 'canceled')
  ) then
    raise exception 'a card''s part of a refund does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'refund_item_state_table';
  end if;
  return new;
end $$;
create trigger guard_refund_item before update on refunds.refund_items for each row execute function refunds.guard_refund_item();

create function refunds.guard_refund_attempt() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and (old.status, new.status) not in (
    ('created', 'sending'), ('sending', 'unknown'), ('unknown', 'sending'),
    ('sending', 'accepted'), ('sending', 'failed'), ('unknown', 'accepted'), ('unknown', 'failed'),
    ('accepted', 'ended')
  ) then
    raise exception 'an attempt does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'refund_attempt_state_table';
  end if;
  return new;
end $$;
create trigger guard_refund_attempt before update on refunds.refund_attempts for each row
  execute function refunds.guard_refund_attempt();

create function refunds.check_refund_sum() returns trigger language plpgsql as $$
declare
  whole bigint;
  parts bigint;
begin
  select r.amount_cents into whole from refunds.refunds r
   where r.account_id = new.account_id and r.test_mode = new.test_mode and r.id = new.refund_id;
  select sum(i.amount_cents) into parts from refunds.refund_items i
   where i.account_id = new.account_id and i.test_mode = new.test_mode and i.refund_id = new.refund_id;
  if whole is distinct from parts then
    raise exception 'the parts of a refund sum to % and not to %', parts, whole
      using errcode = 'check_violation', constraint = 'refund_is_the_sum_of_its_parts';
  end if;
  return null;
end $$;
create constraint trigger check_refund_sum after insert on refunds.refund_items
  deferrable initially deferred for each row execute function refunds.check_refund_sum();

create function refunds.check_ledger_transaction() returns trigger language plpgsql as $$
declare
  sum_cents numeric;
begin
  select sum(e.amount_cents) into sum_cents from refunds.ledger_entries e
   where e.account_id = new.account_id and e.test_mode = new.test_mode and e.transaction_id = new.transaction_id;
  if sum_cents <> 0 then
    raise exception 'the entries of a ledger transaction sum to %', sum_cents
      using errcode = 'check_violation', constraint = 'ledger_transaction_balances';
  end if;
  return null;
end $$;
create constraint trigger check_ledger_transaction after insert on refunds.ledger_entries
  deferrable initially deferred for each row execute function refunds.check_ledger_transaction();

create policy finder_reads on refunds.refunds for select to eligo_finder using (true);
create policy finder_reads on refunds.refund_items for select to eligo_finder using (true);
create policy finder_reads on refunds.refund_attempts for select to eligo_finder using (true);
grant select on refunds.refunds, refunds.refund_items, refunds.refund_attempts to eligo_finder;

-- By database time: what is due here is leases and pauses between checks, which no customer's clock moves.
create function refunds.due_refund_work(most integer)
  returns table (kind text, account_id text, test_mode boolean, id text, part text)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  (select 'requested', r.account_id, r.test_mode, r.id, '' from refunds.refunds r
    where r.status = 'requested' and r.next_check_at <= now() and (r.lease_until is null or r.lease_until <= now())
    order by r.next_check_at limit most)
  union all
  (select 'attempt', a.account_id, a.test_mode, a.id, '' from refunds.refund_attempts a
    where a.status in ('created', 'sending', 'unknown', 'accepted') and a.next_check_at <= now() and a.lease_until <= now()
    order by a.next_check_at limit most)
  union all
  (select 'releasing', i.account_id, i.test_mode, i.refund_id, i.payment_intent_id from refunds.refund_items i
    where i.status = 'releasing' and i.next_check_at <= now() and (i.lease_until is null or i.lease_until <= now())
    order by i.next_check_at limit most)
$$;
alter function refunds.due_refund_work(integer) owner to eligo_finder;
revoke all on function refunds.due_refund_work(integer) from public;
grant execute on function refunds.due_refund_work(integer) to eligo_refunds;
