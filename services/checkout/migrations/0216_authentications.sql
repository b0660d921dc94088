-- Charges for which the bank has asked the shopper of a page to authenticate. The row says that the browser was given the means to finish the payment
-- at the processor; what came of it is in the attempt.
create table checkout.authentications (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  attempt_id text collate "C" not null,
  requested_at timestamptz(3) not null,
  primary key (account_id, test_mode, session_id, attempt_id),
  foreign key (account_id, test_mode, attempt_id) references checkout.charge_attempts (account_id, test_mode, id)
);
alter table checkout.authentications enable row level security;
alter table checkout.authentications force row level security;
create policy own_rows on checkout.authentications
  using (account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke update, delete, truncate on checkout.authentications from :"role";
