-- What accounts can do, until billing has recorded it: a renewal has no request that carries it. As statements_to_tell: the triggers queue every change, whoever
-- makes it, and billing never lets an older one replace a newer one.
create table gateway.features_to_tell (
  account_id text collate "C" primary key,
  features text[] not null,
  version bigint generated always as identity unique
);
revoke update, truncate on gateway.features_to_tell from :"role";

create function gateway.queue_features() returns trigger language plpgsql as $$
begin
  delete from gateway.features_to_tell where account_id = new.account_id;
  insert into gateway.features_to_tell (account_id, features) values (new.account_id, new.features);
  perform pg_notify('eligo_gateway_statements', '');
  return null;
end $$;
create trigger queue_new_features after insert on gateway.accounts
  for each row execute function gateway.queue_features();
create trigger queue_changed_features after update on gateway.accounts
  for each row when (old.features is distinct from new.features) execute function gateway.queue_features();

-- Those of the accounts that are there. The triggers' lock keeps them as they are meanwhile.
insert into gateway.features_to_tell (account_id, features)
  select account_id, features from gateway.accounts order by account_id;
