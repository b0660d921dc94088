-- What shoppers call an account's shop, as the gateway told it last. The mail that asks a customer to confirm a live renewal names it.
create table billing.shop_names (
  account_id text collate "C" not null,
  test_mode boolean not null constraint shop_names_of_live_mode check (not test_mode),
  name text not null check (name <> ''),
  version bigint not null check (version > 0),
  recorded_at timestamptz(3) not null default clock_timestamp(),
  primary key (account_id, test_mode)
);
alter table billing.shop_names enable row level security;
alter table billing.shop_names force row level security;
create policy own_rows on billing.shop_names
  using (account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke delete, truncate on billing.shop_names from :"role";
