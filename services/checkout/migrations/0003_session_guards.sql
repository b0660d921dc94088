-- What no code path may do to a session: leave its state table, change its split, or write lines that do not sum to it.

-- The moves are those of domain/session-states.ts; a test tries every pair in both.
create function checkout.guard_session() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and (old.status, new.status) not in (
    ('open', 'paid'), ('open', 'complete'), ('open', 'canceled'), ('open', 'expired'),
    ('paid', 'complete'), ('paid', 'canceled')
  ) then
    raise exception 'a session does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'session_state_table';
  end if;
  if (new.mode, new.amount_subtotal_cents, new.amount_discount_cents, new.amount_tax_cents, new.amount_shipping_cents,
      new.amount_fee_cents, new.amount_total_cents, new.amount_eligible_cents, new.amount_iias_cents,
      new.amount_prescription_cents, new.amount_vision_cents, new.amount_service_cents)
     is distinct from
     (old.mode, old.amount_subtotal_cents, old.amount_discount_cents, old.amount_tax_cents, old.amount_shipping_cents,
      old.amount_fee_cents, old.amount_total_cents, old.amount_eligible_cents, old.amount_iias_cents,
      old.amount_prescription_cents, old.amount_vision_cents, old.amount_service_cents) then
    raise exception 'a session''s split does not change'
      using errcode = 'check_violation', constraint = 'session_split_is_final';
  end if;
  return new;
end $$;
create trigger guard_session before update on checkout.sessions for each row execute function checkout.guard_session();

create function checkout.guard_session_line() returns trigger language plpgsql as $$
begin
  if (new.session_id, new.id, new.position, new.price_id, new.product_id, new.quantity, new.unit_amount_cents,
      new.amount_subtotal_cents, new.amount_discount_cents, new.amount_tax_cents, new.amount_shipping_cents,
      new.amount_fee_cents, new.amount_total_cents, new.amount_eligible_cents, new.eligibility_class)
     is distinct from
     (old.session_id, old.id, old.position, old.price_id, old.product_id, old.quantity, old.unit_amount_cents,
      old.amount_subtotal_cents, old.amount_discount_cents, old.amount_tax_cents, old.amount_shipping_cents,
      old.amount_fee_cents, old.amount_total_cents, old.amount_eligible_cents, old.eligibility_class) then
    raise exception 'a line''s split does not change'
      using errcode = 'check_violation', constraint = 'session_split_is_final';
  end if;
  return new;
end $$;
create trigger guard_session_line before update on checkout.session_lines for each row execute function checkout.guard_session_line();

create function checkout.refuse_delete() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are never deleted', tg_table_name
    using errcode = 'check_violation', constraint = 'session_split_is_final';
end $$;
create trigger refuse_delete before delete on checkout.sessions for each row execute function checkout.refuse_delete();
create trigger refuse_delete before delete on checkout.session_lines for each row execute function checkout.refuse_delete();
create trigger refuse_delete before delete on checkout.session_fees for each row execute function checkout.refuse_delete();
create trigger refuse_delete before delete on checkout.session_discounts for each row execute function checkout.refuse_delete();
create trigger refuse_delete before delete on checkout.eligibility_records for each row execute function checkout.refuse_delete();

-- Runs once for each new session, when everything of it is written: each amount is the sum of its lines' parts.
create function checkout.check_session_sums() returns trigger language plpgsql as $$
declare
  sums record;
  fees bigint;
  discounts bigint;
  eligible bigint;
begin
  select coalesce(sum(amount_subtotal_cents), 0) as subtotal, coalesce(sum(amount_discount_cents), 0) as discount,
         coalesce(sum(amount_tax_cents), 0) as tax, coalesce(sum(amount_shipping_cents), 0) as shipping,
         coalesce(sum(amount_fee_cents), 0) as fee, coalesce(sum(amount_total_cents), 0) as total,
         coalesce(sum(amount_eligible_cents), 0) as eligible,
         coalesce(sum(amount_eligible_cents)
           filter (where eligibility_class in ('auto_substantiation', 'private_label')), 0) as iias,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'prescription'), 0) as prescription,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'vision'), 0) as vision,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'service'), 0) as service,
         count(*) as lines
    into sums
    from checkout.session_lines
   where account_id = new.account_id and test_mode = new.test_mode and session_id = new.id;
  if (sums.subtotal, sums.discount, sums.tax, sums.shipping, sums.fee, sums.total, sums.eligible, sums.iias,
      sums.prescription, sums.vision, sums.service)
     is distinct from
     (new.amount_subtotal_cents, new.amount_discount_cents, new.amount_tax_cents, new.amount_shipping_cents,
      new.amount_fee_cents, new.amount_total_cents, new.amount_eligible_cents, new.amount_iias_cents,
      new.amount_prescription_cents, new.amount_vision_cents, new.amount_service_cents) then
    raise exception 'a session''s lines do not sum to it'
      using errcode = 'check_violation', constraint = 'session_lines_sum_to_session';
  end if;
  if new.fee_count > 0 or new.amount_fee_cents > 0 then
    select coalesce(sum(amount_cents) filter (where applied), 0) into fees from checkout.session_fees
     where account_id = new.account_id and test_mode = new.test_mode and session_id = new.id;
    if fees <> new.amount_fee_cents then
      raise exception 'a session''s fees do not sum to it'
        using errcode = 'check_violation', constraint = 'session_fees_sum_to_session';
    end if;
  end if;
  if new.discount_count > 0 or new.amount_discount_cents > 0 then
    select coalesce(sum(amount_cents), 0) into discounts from checkout.session_discounts
     where account_id = new.account_id and test_mode = new.test_mode and session_id = new.id;
    if discounts <> new.amount_discount_cents then
      raise exception 'a session''s discounts do not sum to it'
        using errcode = 'check_violation', constraint = 'session_discounts_sum_to_session';
    end if;
  end if;
  select eligible_cents into eligible from checkout.eligibility_records
   where account_id = new.account_id and test_mode = new.test_mode and session_id = new.id;
  if sums.lines > 0 and eligible is distinct from new.amount_eligible_cents then
    raise exception 'a session''s eligibility record does not equal it'
      using errcode = 'check_violation', constraint = 'eligibility_record_equals_session';
  end if;
  return null;
end $$;
create constraint trigger check_session_sums after insert on checkout.sessions
  deferrable initially deferred for each row execute function checkout.check_session_sums();

-- Parts are written with their session only, so that the check above, which runs at its commit, sees all of them.
create function checkout.check_written_with_session() returns trigger language plpgsql as $$
begin
  if exists (
    select from (select distinct account_id, test_mode, session_id from written) w
    where not exists (
      select from checkout.sessions s
       where s.account_id = w.account_id and s.test_mode = w.test_mode and s.id = w.session_id
         and s.xmin = pg_current_xact_id()::xid
    )
  ) then
    raise exception 'rows of % are written with their session', tg_table_name
      using errcode = 'check_violation', constraint = 'session_split_is_final';
  end if;
  return null;
end $$;
create trigger check_written_with_session after insert on checkout.session_lines
  referencing new table as written for each statement execute function checkout.check_written_with_session();
create trigger check_written_with_session after insert on checkout.session_fees
  referencing new table as written for each statement execute function checkout.check_written_with_session();
create trigger check_written_with_session after insert on checkout.session_discounts
  referencing new table as written for each statement execute function checkout.check_written_with_session();
create trigger check_written_with_session after insert on checkout.eligibility_records
  referencing new table as written for each statement execute function checkout.check_written_with_session();

-- What is due in any account: ids only; the job then works in each account's own context.
create policy finder_reads on checkout.sessions for select to eligo_finder using (true);
create policy finder_reads on checkout.test_clocks for select to eligo_finder using (true);
create policy finder_reads on checkout.catalog_tasks for select to eligo_finder using (true);
grant usage on schema checkout to eligo_finder;
grant select on checkout.sessions, checkout.test_clocks, checkout.catalog_tasks to eligo_finder;

create function checkout.due_catalog_tasks(most integer)
  returns table (account_id text, test_mode boolean, session_id text, kind text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select t.account_id, t.test_mode, t.session_id, t.kind from checkout.catalog_tasks t
   where t.due_at <= now() order by t.due_at limit most
$$;

-- Keys outlive every retry: 30 days.
create policy finder_prunes on checkout.session_keys for delete to eligo_finder
  using (created_at < now() - interval '30 days');
create policy finder_reads on checkout.session_keys for select to eligo_finder using (true);
grant select, delete on checkout.session_keys to eligo_finder;
create function checkout.prune_session_keys(most integer) returns bigint
  language sql security definer set search_path = checkout, pg_temp as $$
  with old as (
    select account_id, test_mode, key from checkout.session_keys
    where created_at < now() - interval '30 days' order by created_at limit most
  ), gone as (
    delete from checkout.session_keys k using old
    where (k.account_id, k.test_mode, k.key) = (old.account_id, old.test_mode, old.key) returning 1
  )
  select count(*) from gone
$$;

alter function checkout.prune_session_keys(integer) owner to eligo_finder;
revoke all on function checkout.prune_session_keys(integer) from public;
grant execute on function checkout.prune_session_keys(integer) to eligo_checkout;
alter function checkout.due_catalog_tasks(integer) owner to eligo_finder;
revoke all on function checkout.due_catalog_tasks(integer) from public;
grant execute on function checkout.due_catalog_tasks(integer) to eligo_checkout;
