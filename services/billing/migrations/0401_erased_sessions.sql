-- Sessions whose shopper the operator erased. A receipt that is issued later, because its command waited, is issued without the name.
create table erased_sessions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  erased_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode, session_id)
);
alter table erased_sessions enable row level security;
alter table erased_sessions force row level security;
create policy account_scope on erased_sessions using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
-- Only the operator's command erases.
revoke insert, update, delete on erased_sessions from :"role";
