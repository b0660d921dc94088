-- The set-up of the card of a subscription that the API sold and that charges nothing yet: one at most for each subscription, by the primary key. Its row says where
-- the set-up intent of the same id is at the processor, so that any process goes on with it. The secret is the processor's, and is not stored.
create table checkout.subscription_set_ups (
  account_id text collate "C" not null,
  test_mode boolean not null,
  subscription_id text collate "C" not null,
  setup_intent_id text collate "C" not null,
  customer_id text collate "C" not null,
  -- The card that the subscription was created with. Null: its customer gives one.
  payment_method_id text collate "C",
  processor checkout.processor not null,
  processor_account text collate "C" not null,
  -- Null until the processor has answered.
  processor_setup_intent_id text collate "C",
  -- Which of its keys at the processor is the next to be used.
  tries integer not null default 0 check (tries >= 0),
  -- `beginning` until the processor was asked for all that goes without the customer; then `waiting` for them.
  status text collate "C" not null check (status in ('beginning', 'waiting', 'saved', 'canceled')),
  -- It waits no longer: it is canceled at the processor.
  ends boolean not null default false,
  saved_payment_method_id text collate "C",
  expires_at timestamptz(3) not null,
  next_check_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode, subscription_id),
  unique (account_id, test_mode, setup_intent_id),
  foreign key (account_id, test_mode, customer_id) references checkout.customers (account_id, test_mode, id),
  constraint subscription_set_ups_saved_has_its_card check ((status = 'saved') = (saved_payment_method_id is not null)),
  constraint subscription_set_ups_is_at_the_processor
    check (status not in ('waiting', 'saved') or processor_setup_intent_id is not null)
);
-- An intent of the processor is of one subscription, and is found by its name.
create unique index subscription_set_ups_by_intent on checkout.subscription_set_ups (account_id, test_mode, processor_setup_intent_id)
  where processor_setup_intent_id is not null;
create index subscription_set_ups_due on checkout.subscription_set_ups (next_check_at) where status in ('beginning', 'waiting');
create index subscription_set_ups_by_account on checkout.subscription_set_ups (account_id, test_mode, next_check_at)
  where status in ('beginning', 'waiting');
alter table checkout.subscription_set_ups enable row level security;
alter table checkout.subscription_set_ups force row level security;
create policy own_rows on checkout.subscription_set_ups
  using (account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
create policy finder_reads on checkout.subscription_set_ups for select to eligo_finder using (true);
grant select on checkout.subscription_set_ups to eligo_finder;
revoke delete, truncate on checkout.subscription_set_ups from :"role";

create function checkout.guard_subscription_set_up() returns trigger language plpgsql as $$
begin
  -- The moves of domain/subscription-set-up.ts; a test tries every pair in both.
  if new.status <> old.status and (old.status, new.status) not in (
    ('beginning', 'waiting'), ('beginning', 'saved'), ('beginning', 'canceled'), ('waiting', 'saved'), ('waiting', 'canceled')
  ) then
    raise exception 'a set-up does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'set_up_state_table';
  end if;
  if (new.setup_intent_id, new.customer_id, new.processor, new.processor_account, new.created_at)
     is distinct from (old.setup_intent_id, old.customer_id, old.processor, old.processor_account, old.created_at)
     or new.payment_method_id is distinct from old.payment_method_id
     or (old.processor_setup_intent_id is not null and new.processor_setup_intent_id is distinct from old.processor_setup_intent_id)
     or (old.status in ('saved', 'canceled') and new.saved_payment_method_id is distinct from old.saved_payment_method_id) then
    raise exception 'the set-up of subscription % stays what it is', old.subscription_id
      using errcode = 'check_violation', constraint = 'one_set_up_of_a_subscription';
  end if;
  return new;
end $$;
create trigger guard_subscription_set_up before update on checkout.subscription_set_ups
  for each row execute function checkout.guard_subscription_set_up();

-- How long until the set-up that is due first is to be looked at. While none is due, no account is visited.
create function checkout.next_set_up() returns interval
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select s.next_check_at - now() from checkout.subscription_set_ups s where s.status in ('beginning', 'waiting') order by s.next_check_at limit 1
$$;
-- The accounts and modes after one that have a set-up to look at, which take turns, as those that hold money do.
create function checkout.set_up_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language plpgsql stable security definer set search_path = checkout, pg_temp as $$
declare
  few constant integer := 200;
  is_backlog boolean;
begin
  select count(*) = few into is_backlog from (
    select from checkout.subscription_set_ups s where s.status in ('beginning', 'waiting') and s.next_check_at <= now() limit few) due;
  if not is_backlog then
    return query
      select d.account_id, d.test_mode, true from (
        select s.account_id, s.test_mode from checkout.subscription_set_ups s
         where s.status in ('beginning', 'waiting') and s.next_check_at <= now() order by s.next_check_at limit few) d
       where (d.account_id, d.test_mode) > (after_account collate "C", after_mode)
       group by d.account_id, d.test_mode order by d.account_id, d.test_mode limit most;
    return;
  end if;
  return query
    with recursive turns as (
      (select s.account_id, s.test_mode, 1 as turn from checkout.subscription_set_ups s
        where s.status in ('beginning', 'waiting') and (s.account_id, s.test_mode) > (after_account collate "C", after_mode)
        order by s.account_id, s.test_mode limit 1)
      union all
      select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
        select s.account_id, s.test_mode from checkout.subscription_set_ups s
         where s.status in ('beginning', 'waiting') and (s.account_id, s.test_mode) > (t.account_id, t.test_mode)
         order by s.account_id, s.test_mode limit 1) n
       where t.turn < most
    )
    select t.account_id, t.test_mode, exists (select from checkout.subscription_set_ups s
      where s.account_id = t.account_id and s.test_mode = t.test_mode and s.status in ('beginning', 'waiting') and s.next_check_at <= now())
      from turns t;
end $$;
alter function checkout.next_set_up() owner to eligo_finder;
alter function checkout.set_up_turns(text, boolean, integer) owner to eligo_finder;
revoke all on function checkout.next_set_up(), checkout.set_up_turns(text, boolean, integer) from public;
grant execute on function checkout.next_set_up(), checkout.set_up_turns(text, boolean, integer) to :"role";
