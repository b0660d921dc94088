-- eligo: no-transaction
-- A list of the sessions of a time reads the part of the primary key that the ids of that time are in, and these sessions, which are elsewhere.
create index concurrently if not exists sessions_out_of_time on checkout.sessions (account_id, test_mode, created_at, id)
  where not checkout.id_tells_time(id, created_at);
