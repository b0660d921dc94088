-- Who calls, and on whose behalf: what the context of every other row is established from. So these tables have no row-level security;
-- the gateway's role alone can read them, and a partner's request reaches them by the hash of its key only.

create table gateway.organizations (
  organization_id text collate "C" primary key,
  name text not null check (length(name) between 1 and 200),
  created_at timestamptz(3) not null default clock_timestamp()
);

create table gateway.accounts (
  account_id text collate "C" primary key,
  name text not null check (length(name) between 1 and 200),
  -- An account belongs to at most one organization.
  organization_id text collate "C" references gateway.organizations,
  features text[] not null default '{}',
  -- Where a subscription goes when its dunning ends.
  dunning_end text not null default 'canceled' check (dunning_end in ('canceled', 'unpaid')),
  -- Counts the changes, so that a copy knows an older event when it sees one.
  version bigint not null default 1 check (version > 0),
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp()
);
create index accounts_by_organization on gateway.accounts (organization_id, account_id) where organization_id is not null;

create table gateway.api_keys (
  key_id text collate "C" primary key,
  account_id text collate "C" not null references gateway.accounts,
  test_mode boolean not null,
  -- SHA-256 of the key, which is shown once and kept nowhere.
  key_hash bytea not null unique check (length(key_hash) = 32),
  last4 text collate "C" not null check (length(last4) = 4),
  -- Null: all scopes.
  scopes text[],
  -- Requests per second; null: the mode's default; 0: no limit.
  rate_limit integer check (rate_limit >= 0),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp()
);
create index api_keys_by_account on gateway.api_keys (account_id, key_id);

-- Every gateway listens, and forgets what it keeps in memory: a revoked key or a lost feature ends at once.
create function gateway.notify_keys() returns trigger language plpgsql as $$
begin
  perform pg_notify('eligo_gateway_keys', '');
  return null;
end $$;

create trigger keys_changed after insert or update or delete on gateway.api_keys
  for each statement execute function gateway.notify_keys();
create trigger accounts_changed after update or delete on gateway.accounts
  for each statement execute function gateway.notify_keys();

-- Keys are revoked and accounts are kept: neither is ever deleted.
revoke delete, truncate on gateway.organizations, gateway.accounts, gateway.api_keys from :"role";
