-- Subscriptions that cannot be renewed until the gateway has told what their account can do, and how long they are held for that. It frees those that are still held so
-- long: another hold is of a process that works on the subscription. Empty for an account of which billing was told.
create table billing.subscriptions_awaiting_features (
  account_id text collate "C" not null,
  test_mode boolean not null,
  subscription_id text collate "C" not null,
  held_until timestamptz(3) not null,
  primary key (account_id, test_mode, subscription_id),
  foreign key (account_id, test_mode, subscription_id) references billing.subscriptions
);
alter table billing.subscriptions_awaiting_features enable row level security;
alter table billing.subscriptions_awaiting_features force row level security;
create policy account_scope on billing.subscriptions_awaiting_features
  using (account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke truncate on billing.subscriptions_awaiting_features from :"role";
