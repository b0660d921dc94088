-- A list's statement has one plan for all values of its filter. In an account whose rows all have one value the planner expects that any value is in every
-- row, takes the rows by their id, and a page of a value that is rare reads all of the account. It is to expect few of each.
alter table webhooks.events alter column event_type set (n_distinct = 20);
-- It counts from the next statistics on; a table that was analyzed while it is empty would be planned worse than one that was not.
do $$ begin
  if (select reltuples > 0 from pg_class where oid = 'webhooks.events'::regclass) then analyze webhooks.events (event_type); end if;
end $$;
