-- eligo: no-transaction
-- Consumers look every second for what is to be dealt with again.
create index concurrently if not exists dead_letters_redrive on dead_letters (consumer, redrive_at) where redrive_at is not null;
