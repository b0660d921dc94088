-- Each time that the operator erased the personal data of a session without a customer, and who asked for it. Written by the command line, which the service's role is not.
create table checkout.guest_erasures (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  number bigint generated always as identity,
  requested_by text not null check (requested_by <> ''),
  started_at timestamptz(3) not null default now(),
  -- Null: the run was stopped, and is to be repeated.
  finished_at timestamptz(3),
  primary key (account_id, test_mode, session_id, number),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id)
);
-- A run that was stopped has erased the address by which its sessions were found: the next run finds them here.
create index guest_erasures_unfinished on checkout.guest_erasures (account_id, test_mode, session_id) where finished_at is null;
alter table checkout.guest_erasures enable row level security;
alter table checkout.guest_erasures force row level security;
create policy own_rows on checkout.guest_erasures using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke all on checkout.guest_erasures from eligo_checkout;
grant select on checkout.guest_erasures to eligo_checkout;
