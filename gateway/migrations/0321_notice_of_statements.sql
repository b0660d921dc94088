-- Gateways listen for changes, and need not ask for them every other second. Notices of one transaction that say the same are one.
create or replace function gateway.queue_statement() returns trigger language plpgsql as $$
begin
  delete from gateway.statements_to_tell where account_id = new.account_id;
  insert into gateway.statements_to_tell (account_id, substantiation) values (new.account_id, new.substantiation);
  perform pg_notify('eligo_gateway_statements', '');
  return null;
end $$;
