-- People who operate the installation. They log in by a personal credential, and belong to no account.
create table gateway.operators (
  operator_id text collate "C" primary key,
  name text not null unique check (length(name) between 1 and 200),
  -- SHA-256 of the personal credential, which is shown once.
  credential_hash bytea not null unique check (octet_length(credential_hash) = 32),
  created_at timestamptz(3) not null default now(),
  revoked_at timestamptz(3)
);
revoke all on gateway.operators from eligo_gateway;
grant select, insert, update (revoked_at) on gateway.operators to eligo_gateway;
