-- eligo: no-transaction
-- The review queue.
create index concurrently letters_queue on checkout.letters (test_mode, review_until, id) where status = 'in_review';
-- A letter by its identifier alone. By hash: a list of one account must not be read in the order of the identifiers of all accounts.
create index concurrently letters_by_id on checkout.letters using hash (id);
