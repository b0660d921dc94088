-- A list's statement has one plan for all values of its filter. In an account whose rows all have one value the planner expects that any value is in every
-- row, takes the rows by their id, and a page of a value that is rare reads all of the account. It is to expect few of each.
alter table checkout.sessions alter column status set (n_distinct = 20), alter column mode set (n_distinct = 20), alter column customer_email set (n_distinct = 1000);
alter table checkout.letters alter column status set (n_distinct = 20);
alter table checkout.payment_links alter column active set (n_distinct = 20);
alter table checkout.customers alter column email set (n_distinct = 1000);
-- It counts from the next statistics on; a table that was analyzed while it is empty would be planned worse than one that was not.
do $$ begin
  if (select reltuples > 0 from pg_class where oid = 'checkout.sessions'::regclass) then analyze checkout.sessions (status, mode, customer_email); end if;
end $$;
do $$ begin
  if (select reltuples > 0 from pg_class where oid = 'checkout.letters'::regclass) then analyze checkout.letters (status); end if;
end $$;
do $$ begin
  if (select reltuples > 0 from pg_class where oid = 'checkout.payment_links'::regclass) then analyze checkout.payment_links (active); end if;
end $$;
do $$ begin
  if (select reltuples > 0 from pg_class where oid = 'checkout.customers'::regclass) then analyze checkout.customers (email); end if;
end $$;
