-- Which keys of a keyring have sealed the answers of letters, each with a fingerprint that does not give the key away. Checkout compares its keyring with them
-- when it starts. Written once for each key.
create table checkout.sealing_keys (
  key_id text collate "C" primary key check (length(key_id) between 1 and 32),
  fingerprint bytea not null check (length(fingerprint) = 32),
  recorded_at timestamptz(3) not null default now()
);
revoke all on checkout.sealing_keys from :"role";
grant select on checkout.sealing_keys to :"role";
grant insert (key_id, fingerprint) on checkout.sealing_keys to :"role";
