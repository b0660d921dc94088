-- Money that the processor sent to the bank. A row is made of the payout's movement on the balance; the processor is then asked for the payout and for the
-- movements that it took.
create table refunds.payouts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  processor refunds.processor not null,
  processor_account text collate "C" not null,
  processor_payout_id text collate "C" not null,
  amount_cents bigint not null check (amount_cents <> 0),
  currency text collate "C" not null default 'usd',
  status text collate "C" not null default 'pending' check (status in ('pending', 'in_transit', 'paid', 'failed', 'canceled')),
  -- When the bank has it, or will; null until the processor was asked.
  arrival_at timestamptz(3),
  failure_code text collate "C",
  balance_transaction_id text collate "C",
  created_at timestamptz(3) not null,
  -- When the processor is asked next, or until when a process asks it; null once it is settled and all that it took is noted.
  next_look_at timestamptz(3) default clock_timestamp(),
  -- Looks since its last movement.
  looks integer not null default 0,
  -- The last movement up to which what it took is noted.
  noted_to text collate "C",
  is_noted boolean not null default false,
  primary key (account_id, test_mode, id),
  unique (account_id, test_mode, processor, processor_account, processor_payout_id),
  constraint test_payout_is_at_the_sandbox check (not test_mode or processor = 'sandbox'),
  constraint failure_has_a_failed_payout check (failure_code is null or status in ('failed', 'canceled')),
  constraint open_payout_is_looked_at check (next_look_at is not null or (is_noted and status in ('paid', 'failed', 'canceled')))
);
create index payouts_due on refunds.payouts (next_look_at) where next_look_at is not null;
alter table refunds.payouts enable row level security;
alter table refunds.payouts force row level security;
create policy own_rows on refunds.payouts for all
  using (account_id = nullif(current_setting('eligo.account_id', true), '') and test_mode = nullif(current_setting('eligo.test_mode', true), '')::boolean);
create policy finder_reads on refunds.payouts for select to eligo_finder using (true);
grant select on refunds.payouts to eligo_finder;
revoke update, delete on refunds.payouts from :"role";
grant update (amount_cents, currency, status, arrival_at, failure_code, balance_transaction_id, created_at, next_look_at, looks, noted_to, is_noted)
  on refunds.payouts to :"role";

-- The payout that took a movement to the bank.
alter table refunds.balance_transactions add column payout_id text collate "C";
alter table refunds.balance_transactions add constraint balance_transactions_payout_fkey
  foreign key (account_id, test_mode, payout_id) references refunds.payouts not valid;
grant update (payout_id) on refunds.balance_transactions to :"role";

create function refunds.due_payouts(most integer) returns table (account_id text, test_mode boolean, id text)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select p.account_id, p.test_mode, p.id from refunds.payouts p where p.next_look_at <= clock_timestamp() order by p.next_look_at limit most
$$;
create function refunds.next_payout() returns timestamptz
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select p.next_look_at from refunds.payouts p where p.next_look_at is not null order by p.next_look_at limit 1
$$;
alter function refunds.due_payouts(integer) owner to eligo_finder;
alter function refunds.next_payout() owner to eligo_finder;
revoke all on function refunds.due_payouts(integer), refunds.next_payout() from public;
grant execute on function refunds.due_payouts(integer), refunds.next_payout() to :"role";
