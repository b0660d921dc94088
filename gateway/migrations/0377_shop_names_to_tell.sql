-- What shoppers call the shop, until billing has recorded it: a mail about a renewal has no request that carries it. The trigger queues every change, whoever makes it.
-- Each change has a number, which orders the names of an account: billing never lets an older one replace a newer one.
create table gateway.shop_names_to_tell (
  account_id text collate "C" primary key,
  name text not null,
  version bigint generated always as identity unique
);
revoke update, truncate on gateway.shop_names_to_tell from :"role";

create function gateway.queue_shop_name() returns trigger language plpgsql as $$
begin
  delete from gateway.shop_names_to_tell where account_id = new.account_id;
  insert into gateway.shop_names_to_tell (account_id, name) values (new.account_id, coalesce(new.display_name, new.name));
  perform pg_notify('eligo_gateway_statements', '');
  return null;
end $$;
create trigger queue_new_shop_name after insert on gateway.accounts
  for each row execute function gateway.queue_shop_name();
create trigger queue_changed_shop_name after update on gateway.accounts
  for each row when (coalesce(old.display_name, old.name) is distinct from coalesce(new.display_name, new.name))
  execute function gateway.queue_shop_name();

-- Those of the accounts that are there. The triggers' lock keeps them as they are meanwhile.
insert into gateway.shop_names_to_tell (account_id, name)
  select account_id, coalesce(display_name, name) from gateway.accounts order by account_id;
