-- Subscriptions, their items, periods and invoices, and the test clocks that customers live on.

create table test_clocks (
  account_id text collate "C" not null,
  test_mode boolean not null check (test_mode),
  id text collate "C" not null,
  name text,
  frozen_time timestamptz(3) not null,
  status text collate "C" not null check (status in ('ready', 'advancing')),
  created_at timestamptz(3) not null,
  deleted_at timestamptz(3),
  primary key (account_id, test_mode, id)
);
create index test_clocks_advancing on test_clocks (account_id, test_mode, id) where status = 'advancing';

-- A clock only goes forward: what it has made due stays due.
create function guard_test_clock() returns trigger language plpgsql as $$
begin
  if new.frozen_time < old.frozen_time then
    raise exception 'a test clock does not go back' using errcode = 'check_violation', constraint = 'test_clock_goes_forward';
  end if;
  return new;
end $$;
create trigger guard_test_clock before update on test_clocks for each row execute function guard_test_clock();

create table subscriptions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  checkout_session_id text collate "C",
  test_clock_id text collate "C",
  status text collate "C" not null check (status in ('incomplete', 'incomplete_expired', 'trialing', 'active', 'past_due',
    'canceled', 'unpaid', 'paused')),
  -- Periods are counted from here, so that 31 January is followed by 28 February and then by 31 March.
  anchor timestamptz(3) not null,
  interval text collate "C" not null check (interval in ('day', 'week', 'month', 'year')),
  interval_count integer not null check (interval_count >= 1),
  current_period_start timestamptz(3) not null,
  current_period_end timestamptz(3) not null,
  trial_start timestamptz(3),
  trial_end timestamptz(3),
  cancel_at_period_end boolean not null default false,
  cancel_at timestamptz(3),
  canceled_at timestamptz(3),
  latest_invoice_id text collate "C",
  default_payment_method_id text collate "C",
  backup_payment_method_id text collate "C",
  proration_behavior text collate "C",
  missing_payment_method text collate "C",
  -- The discounts it was sold with, each as the JSON form of eligo.checkout.v1.Discount (its int64 are strings).
  discounts jsonb not null default '[]',
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,
  version bigint not null default 1,
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, test_clock_id) references test_clocks,
  constraint period_has_a_length check (current_period_end > current_period_start),
  constraint canceled_is_dated check ((status = 'canceled') = (canceled_at is not null)),
  constraint trial_is_whole check ((trial_start is null) = (trial_end is null))
);
create unique index subscriptions_by_session on subscriptions (account_id, test_mode, checkout_session_id)
  where checkout_session_id is not null;
create index subscriptions_by_customer on subscriptions (account_id, test_mode, customer_id, id);
create index subscriptions_by_status on subscriptions (account_id, test_mode, status, id);
create index subscriptions_ending on subscriptions (least(cancel_at, case when cancel_at_period_end then current_period_end end))
  where status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (cancel_at is not null or cancel_at_period_end);

-- The moves are those of domain/subscription-states.ts; a test tries every pair in both.
create function guard_subscription() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and (old.status, new.status) not in (
    ('incomplete', 'active'), ('incomplete', 'trialing'), ('incomplete', 'incomplete_expired'), ('incomplete', 'canceled'),
    ('trialing', 'active'), ('trialing', 'past_due'), ('trialing', 'paused'), ('trialing', 'canceled'),
    ('active', 'past_due'), ('active', 'paused'), ('active', 'canceled'),
    ('past_due', 'active'), ('past_due', 'unpaid'), ('past_due', 'canceled'),
    ('unpaid', 'active'), ('unpaid', 'canceled'),
    ('paused', 'active'), ('paused', 'canceled')
  ) then
    raise exception 'a subscription does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'subscription_state_table';
  end if;
  return new;
end $$;
create trigger guard_subscription before update on subscriptions for each row execute function guard_subscription();

create table subscription_items (
  account_id text collate "C" not null,
  test_mode boolean not null,
  subscription_id text collate "C" not null,
  id text collate "C" not null,
  position smallint not null check (position >= 0),
  price_id text collate "C" not null,
  quantity bigint not null check (quantity >= 1),
  unit_amount_cents bigint not null check (unit_amount_cents >= 0),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (account_id, test_mode, id),
  unique (account_id, test_mode, subscription_id, position),
  foreign key (account_id, test_mode, subscription_id) references subscriptions
);

create table invoices (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  subscription_id text collate "C",
  customer_id text collate "C" not null,
  checkout_session_id text collate "C",
  status text collate "C" not null check (status in ('draft', 'open', 'paid', 'void', 'uncollectible')),
  collection_method text collate "C" not null check (collection_method = 'charge_automatically'),
  total_cents bigint not null check (total_cents >= 0),
  amount_paid_cents bigint not null default 0 check (amount_paid_cents >= 0),
  payment_intent_id text collate "C",
  charge_id text collate "C",
  backup_charge_status text collate "C",
  period_start timestamptz(3) not null,
  period_end timestamptz(3) not null,
  paid_at timestamptz(3),
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,
  version bigint not null default 1,
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, subscription_id) references subscriptions deferrable initially deferred,
  constraint paid_within_total check (amount_paid_cents <= total_cents),
  constraint paid_is_paid_in_full check ((status = 'paid') = (paid_at is not null) and (status <> 'paid' or amount_paid_cents = total_cents)),
  constraint invoice_period_has_a_length check (period_end > period_start)
);
-- Each period is billed once.
create unique index invoices_once_per_period on invoices (account_id, test_mode, subscription_id, period_start)
  where subscription_id is not null;
create index invoices_by_customer on invoices (account_id, test_mode, customer_id, id);
create index invoices_by_subscription on invoices (account_id, test_mode, subscription_id, id);

do $$
declare name text;
begin
  foreach name in array array['test_clocks', 'subscriptions', 'subscription_items', 'invoices'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format($policy$create policy account_scope on %I using (
      account_id = nullif(current_setting('eligo.account_id', true), '')
      and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean)$policy$, name);
  end loop;
end $$;
revoke delete on test_clocks, subscriptions, subscription_items, invoices from :"role";

-- What is due in any account: ids only; the job then works in each account's own context.
create policy finder_reads on subscriptions for select to eligo_finder using (true);
create policy finder_reads on test_clocks for select to eligo_finder using (true);
grant select on subscriptions, test_clocks to eligo_finder;

create function due_cancellations(at timestamptz, most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = billing, pg_temp as $$
  select s.account_id, s.test_mode, s.id
    from subscriptions s
    left join test_clocks c on c.account_id = s.account_id and c.test_mode = s.test_mode and c.id = s.test_clock_id
   where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
     and least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) <= coalesce(c.frozen_time, at)
   order by least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) limit most
$$;
create function advancing_test_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = billing, pg_temp as $$
  select c.account_id, c.test_mode, c.id from test_clocks c where c.status = 'advancing' order by c.id limit most
$$;
alter function due_cancellations(timestamptz, integer) owner to eligo_finder;
alter function advancing_test_clocks(integer) owner to eligo_finder;
revoke all on function due_cancellations(timestamptz, integer), advancing_test_clocks(integer) from public;
grant execute on function due_cancellations(timestamptz, integer), advancing_test_clocks(integer) to :"role";
