-- Days of an account's balance that `eligo ledger check --processor` has compared with the processor's own list, with the sums that this list had. The next
-- check reads later days, and every check compares these sums with the stored movements.
create table refunds.checked_days (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor refunds.processor not null,
  processor_account text collate "C" not null,
  -- UTC.
  day date not null,
  -- From when on the list was compared: one that is to be read from earlier on is compared again.
  begins_at timestamptz(3) not null,
  movements bigint not null check (movements >= 0),
  amount_cents bigint not null,
  fee_cents bigint not null,
  net_cents bigint not null,
  checked_at timestamptz(3) not null default clock_timestamp(),
  primary key (account_id, test_mode, processor, processor_account, day),
  foreign key (account_id, test_mode, processor, processor_account) references refunds.ledger_feeds
);
alter table refunds.checked_days enable row level security;
alter table refunds.checked_days force row level security;
create policy own_rows on refunds.checked_days using (account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
-- An operator's command writes them; the service does not.
revoke all on refunds.checked_days from eligo_refunds;
