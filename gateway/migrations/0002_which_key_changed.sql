-- A notice names what changed, so that a gateway forgets that and no more: a key, or all keys of an account. Who joins or leaves an
-- organization changes what its other members may read; such a notice names nothing, and everything is forgotten. A new key is in nobody's
-- memory.
create or replace function gateway.notify_keys() returns trigger language plpgsql as $$
declare
  changed text := '';
begin
  if tg_table_name = 'api_keys' then
    changed := old.key_id;
  elsif tg_op = 'UPDATE' and new.organization_id is not distinct from old.organization_id then
    changed := old.account_id;
  end if;
  perform pg_notify('eligo_gateway_keys', changed);
  return null;
end $$;

create or replace trigger keys_changed after update or delete on gateway.api_keys
  for each row execute function gateway.notify_keys();
create or replace trigger accounts_changed after update or delete on gateway.accounts
  for each row execute function gateway.notify_keys();
