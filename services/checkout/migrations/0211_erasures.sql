-- Each time that the operator erased a customer's personal data, and who asked for it. Written by the command line, which the service's role is not.
create table checkout.erasures (
  account_id text collate "C" not null,
  test_mode boolean not null,
  customer_id text collate "C" not null,
  number bigint generated always as identity,
  requested_by text not null check (requested_by <> ''),
  started_at timestamptz(3) not null default now(),
  -- Null: the run was stopped, and is to be repeated.
  finished_at timestamptz(3),
  primary key (account_id, test_mode, customer_id, number),
  foreign key (account_id, test_mode, customer_id) references checkout.customers (account_id, test_mode, id)
);
alter table checkout.erasures enable row level security;
alter table checkout.erasures force row level security;
create policy own_rows on checkout.erasures using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke all on checkout.erasures from eligo_checkout;
grant select on checkout.erasures to eligo_checkout;
