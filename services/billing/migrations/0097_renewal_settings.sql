-- How an account's renewals are charged, if not as soon as they are due.
create table renewal_settings (
  account_id text collate "C" not null,
  test_mode boolean not null,
  -- Within how many minutes after the beginning of a period its invoice is charged.
  spread_minutes smallint not null check (spread_minutes between 1 and 60),
  updated_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode)
);
alter table renewal_settings enable row level security;
alter table renewal_settings force row level security;
create policy account_scope on renewal_settings using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
