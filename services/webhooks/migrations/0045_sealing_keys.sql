-- Which keys of a keyring have sealed this installation's secrets, each with a fingerprint that does not give the key away. Webhooks compares its keyring
-- with them when it starts. Written once for each key.
create table sealing_keys (
  key_id text collate "C" primary key check (length(key_id) between 1 and 32),
  fingerprint bytea not null check (length(fingerprint) = 32),
  recorded_at timestamptz(3) not null default now()
);
revoke all on sealing_keys from :"role";
grant select on sealing_keys to :"role";
grant insert (key_id, fingerprint) on sealing_keys to :"role";
