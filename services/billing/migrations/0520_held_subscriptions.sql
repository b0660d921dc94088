-- eligo: no-transaction
-- Those that a process holds, or that wait for their turns. The index finds holds that end later than any hold lasts.
create index concurrently if not exists subscriptions_held on subscriptions (held_until) where held_until is not null and due_at is not null;
