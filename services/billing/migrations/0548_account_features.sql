-- What an account can do, as the gateway told it last: work of billing's own has no request that carries it. An account of which nothing was told has no row.
create table account_features (
  account_id text collate "C" not null,
  test_mode boolean not null,
  features text[] not null,
  -- Orders what was told of an account.
  version bigint not null check (version > 0),
  recorded_at timestamptz(3) not null default clock_timestamp(),
  primary key (account_id, test_mode)
);
alter table account_features enable row level security;
alter table account_features force row level security;
create policy account_scope on account_features using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke delete, truncate on account_features from :"role";

create function guard_account_features() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  if new.version <= old.version then
    raise exception 'features % of account % are not newer than %', new.version, new.account_id, old.version
      using errcode = 'check_violation', constraint = 'account_features_ascend';
  end if;
  return new;
end $$;
create trigger guard_account_features before update on account_features
  for each row execute function guard_account_features();
