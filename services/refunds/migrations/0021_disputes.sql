-- Disputes, as the processor has them. A row begins with the first look at one, and is shown once its charge is known.
create table refunds.disputes (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  -- The account at which the disputed money is, whichever account new money goes to by now.
  processor refunds.processor not null,
  processor_account text collate "C" not null,
  processor_dispute_id text collate "C" not null,
  -- Null until its charge is known; then it and all that is shown are there.
  status text collate "C",
  -- What the processor calls it.
  processor_status text collate "C",
  reason text collate "C",
  amount_cents bigint,
  currency text collate "C",
  payment_intent_id text collate "C",
  charge_id text collate "C",
  checkout_session_id text collate "C",
  evidence jsonb not null default '{}',
  has_evidence boolean not null default false,
  submission_count integer not null default 0,
  due_by timestamptz(3),
  metadata jsonb not null default '{}',
  created_at timestamptz(3),
  -- Each look at the processor raises it; the last one that was begun is the one that is recorded.
  epoch bigint not null default 1,
  lease_until timestamptz(3) not null,
  checks integer not null default 0,
  next_check_at timestamptz(3),
  primary key (account_id, test_mode, id)
);
create unique index one_dispute_for_each_of_the_processor on refunds.disputes (account_id, test_mode, processor, processor_dispute_id);
create index disputes_listed on refunds.disputes (account_id, test_mode, id) where charge_id is not null;
create index disputes_by_intent on refunds.disputes (account_id, test_mode, payment_intent_id, id) where payment_intent_id is not null;
create index disputes_by_charge on refunds.disputes (account_id, test_mode, charge_id, id) where charge_id is not null;
create index disputes_by_session on refunds.disputes (account_id, test_mode, checkout_session_id, id) where checkout_session_id is not null;
create index disputes_due on refunds.disputes (next_check_at) where next_check_at is not null;

-- What disputes took from the balance and brought back, each once.
create table refunds.dispute_movements (
  account_id text collate "C" not null,
  test_mode boolean not null,
  dispute_id text collate "C" not null,
  processor_balance_transaction_id text collate "C" not null,
  balance_transaction_id text collate "C" not null,
  amount_cents bigint not null,
  fee_cents bigint not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (account_id, test_mode, dispute_id, processor_balance_transaction_id),
  foreign key (account_id, test_mode, dispute_id) references refunds.disputes
);

do $$
declare
  name text;
begin
  foreach name in array array['disputes', 'dispute_movements'] loop
    execute format('alter table refunds.%I enable row level security', name);
    execute format('alter table refunds.%I force row level security', name);
    execute format(
      'create policy own_rows on refunds.%I using (account_id = nullif(current_setting(''eligo.account_id'', true), '''')'
      ' and test_mode = (nullif(current_setting(''eligo.test_mode'', true), ''''))::boolean)',
      name
    );
    execute format('revoke delete on refunds.%I from eligo_refunds', name);
  end loop;
end $$;
revoke update on refunds.dispute_movements from eligo_refunds;
create policy finder_reads on refunds.disputes for select to eligo_finder using (true);
grant select on refunds.disputes to eligo_finder;

create function refunds.guard_dispute() returns trigger language plpgsql as $$
declare
  broken text;
begin
  if tg_op = 'UPDATE' then
    -- The moves are those of domain/dispute-states.ts; a test tries every pair in both.
    if new.status <> old.status and (old.status, new.status) not in (
      ('warning_needs_response', 'warning_under_review'), ('warning_needs_response', 'warning_closed'),
      ('warning_needs_response', 'needs_response'), ('warning_needs_response', 'under_review'), ('warning_needs_response', 'won'),
      ('warning_needs_response', 'lost'), ('warning_needs_response', 'prevented'),
      ('warning_under_review', 'warning_needs_response'), ('warning_under_review', 'warning_closed'),
      ('warning_under_review', 'needs_response'), ('warning_under_review', 'under_review'), ('warning_under_review', 'won'),
      ('warning_under_review', 'lost'), ('warning_under_review', 'prevented'),
      ('warning_closed', 'needs_response'), ('warning_closed', 'under_review'), ('warning_closed', 'won'), ('warning_closed', 'lost'),
      ('needs_response', 'under_review'), ('needs_response', 'won'), ('needs_response', 'lost'), ('needs_response', 'prevented'),
      ('under_review', 'needs_response'), ('under_review', 'won'), ('under_review', 'lost'), ('under_review', 'prevented'),
      ('won', 'needs_response'), ('won', 'under_review'), ('won', 'lost'),
      ('lost', 'needs_response'), ('lost', 'under_review'), ('lost', 'won'),
      ('prevented', 'needs_response'), ('prevented', 'under_review'), ('prevented', 'won'), ('prevented', 'lost')
    ) then
      raise exception 'a dispute does not move from % to %', old.status, new.status
        using errcode = 'check_violation', constraint = 'dispute_state_table';
    end if;
    if (new.processor, new.processor_account, new.processor_dispute_id)
          is distinct from (old.processor, old.processor_account, old.processor_dispute_id)
        or old.charge_id is not null and new.charge_id is distinct from old.charge_id then
      raise exception 'dispute % does not change its charge', new.id
        using errcode = 'check_violation', constraint = 'dispute_charge_is_final';
    end if;
  end if;
  broken := case
    when not (new.status in ('warning_needs_response', 'warning_under_review', 'warning_closed', 'needs_response', 'under_review', 'won',
      'lost', 'prevented')) then 'disputes_status_check'
    when not (new.amount_cents >= 0) then 'disputes_amount_cents_check'
    when not (num_nulls(new.status, new.processor_status, new.reason, new.amount_cents, new.currency, new.payment_intent_id, new.charge_id,
      new.created_at) in (0, 8)) then 'whole_once_shown'
    when not (jsonb_typeof(new.evidence) = 'object' and jsonb_typeof(new.metadata) = 'object') then 'disputes_texts_check'
    when not (new.submission_count >= 0) then 'disputes_submission_count_check'
  end;
  if broken is not null then
    raise exception 'dispute % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
create trigger guard_dispute before insert or update on refunds.disputes for each row execute function refunds.guard_dispute();

create or replace function refunds.guard_balance_transaction() returns trigger language plpgsql as $$
declare
  broken text := case
    when not (new.type in ('refund', 'refund_failure', 'dispute', 'dispute_reversal')) then 'balance_transactions_type_check'
    when not ((new.type in ('refund', 'dispute')) = (new.amount_cents < 0) and new.amount_cents <> 0) then 'balance_transactions_check'
    when not (new.status in ('pending', 'available')) then 'balance_transactions_status_check'
  end;
begin
  if broken is not null then
    raise exception 'balance transaction % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;

create function refunds.due_disputes(most integer) returns table (account_id text, test_mode boolean, id text)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select d.account_id, d.test_mode, d.id from refunds.disputes d
   where d.next_check_at <= clock_timestamp() order by d.next_check_at limit most
$$;
create function refunds.next_dispute() returns timestamptz
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select d.next_check_at from refunds.disputes d where d.next_check_at is not null order by d.next_check_at limit 1
$$;
alter function refunds.due_disputes(integer) owner to eligo_finder;
alter function refunds.next_dispute() owner to eligo_finder;
revoke all on function refunds.due_disputes(integer), refunds.next_dispute() from public;
grant execute on function refunds.due_disputes(integer), refunds.next_dispute() to eligo_refunds;
