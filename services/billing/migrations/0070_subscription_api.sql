-- Subscriptions that are made by the API: their first payment may be outstanding, and calls to the catalog follow the change that requires them.

-- expires_at: when a subscription whose first payment is outstanding gives up.
alter table subscriptions
  add column expires_at timestamptz(3),
  add constraint expires_while_incomplete check ((status = 'incomplete') = (expires_at is not null)) not valid;

-- invoiced_cents: what the present period of an item was invoiced at, as a whole period; null if it was sold before this column.
alter table subscription_items
  add column invoiced_cents bigint,
  add column invoiced_eligible boolean,
  add constraint invoiced_is_whole check ((invoiced_cents is null) = (invoiced_eligible is null) and invoiced_cents >= 0) not valid;
grant delete on subscription_items to :"role";

-- billing_reason: null for one that was made before this column, of a session or of a period.
-- pay_with_payment_method_id: the card that pays it, in place of the subscription's.
alter table invoices
  add column billing_reason text collate "C",
  add column pay_with_payment_method_id text collate "C",
  add constraint billing_reasons check (billing_reason in ('subscription_create', 'subscription_cycle', 'subscription_update')) not valid;

-- What is due is that of domain/due-step.ts; a test compares both.
create or replace function set_due() returns trigger language plpgsql as $$
begin
  new.due_at := case
    when new.status in ('incomplete', 'trialing', 'active', 'past_due', 'unpaid', 'paused') then least(
      new.cancel_at,
      case when new.cancel_at_period_end then new.current_period_end end,
      case when new.status in ('trialing', 'active') and new.payment_at is null then new.current_period_end end,
      new.payment_at, new.notice_at, new.expires_at)
    when new.status = 'canceled' then new.payment_at end;
  new.work_at := case when new.test_clock_id is null and new.due_at is not null then greatest(new.due_at, new.held_until) end;
  return new;
end $$;

-- What is still to be done at the catalog for the redemption of a discount; written with the change that requires it, because no call is made inside a transaction.
create table catalog_tasks (
  account_id text collate "C" not null,
  test_mode boolean not null,
  discount_id text collate "C" not null,
  subscription_id text collate "C" not null,
  kind text collate "C" not null check (kind in ('finalize', 'release', 'release_unless_written')),
  due_at timestamptz(3) not null,
  tries integer not null default 0,
  created_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode, discount_id, kind)
);
create index catalog_tasks_due on catalog_tasks (due_at);
alter table catalog_tasks enable row level security;
alter table catalog_tasks force row level security;
create policy account_scope on catalog_tasks using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
create policy finder_reads on catalog_tasks for select to eligo_finder using (true);
grant select on catalog_tasks to eligo_finder;

create function due_catalog_tasks(most integer)
  returns table (account_id text, test_mode boolean, discount_id text, subscription_id text, kind text)
  language sql stable security definer set search_path = billing, pg_temp as $$
  select t.account_id, t.test_mode, t.discount_id, t.subscription_id, t.kind from catalog_tasks t
   where t.due_at <= now() order by t.due_at limit most
$$;
create function next_catalog_task() returns timestamptz
  language sql stable security definer set search_path = billing, pg_temp as $$
  select t.due_at from catalog_tasks t order by t.due_at limit 1
$$;
alter function due_catalog_tasks(integer) owner to eligo_finder;
alter function next_catalog_task() owner to eligo_finder;
revoke all on function due_catalog_tasks(integer), next_catalog_task() from public;
grant execute on function due_catalog_tasks(integer), next_catalog_task() to :"role";
