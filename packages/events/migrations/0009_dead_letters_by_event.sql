-- eligo: no-transaction
-- An event's id begins with the time it was made. So this order is that of the oldest first, and it finds the letters of an event, whose consumer nobody names.
create index concurrently if not exists dead_letters_by_event on dead_letters (event_id, consumer);
