-- What accounts say of HSA and FSA cards, until checkout has recorded it: a renewal has no request that carries it. The trigger queues every change, whoever
-- makes it. Each change has a number, which orders the statements of an account: checkout never lets an older one replace a newer one.
create table gateway.statements_to_tell (
  account_id text collate "C" primary key,
  substantiation text,
  version bigint generated always as identity unique
);
revoke update, truncate on gateway.statements_to_tell from :"role";

create function gateway.queue_statement() returns trigger language plpgsql as $$
begin
  delete from gateway.statements_to_tell where account_id = new.account_id;
  insert into gateway.statements_to_tell (account_id, substantiation) values (new.account_id, new.substantiation);
  return null;
end $$;
create trigger queue_new_statement after insert on gateway.accounts
  for each row execute function gateway.queue_statement();
create trigger queue_changed_statement after update on gateway.accounts
  for each row when (old.substantiation is distinct from new.substantiation) execute function gateway.queue_statement();

-- Those of the accounts that are there. The triggers' lock keeps them as they are meanwhile.
insert into gateway.statements_to_tell (account_id, substantiation)
  select account_id, substantiation from gateway.accounts order by account_id;
