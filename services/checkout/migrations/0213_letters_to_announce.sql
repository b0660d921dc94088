-- eligo: no-transaction
create index concurrently if not exists letters_to_announce on checkout.letters (valid_until)
  where status = 'approved' and end_announced_at is null and customer_id is not null and test_clock_id is null;
create index concurrently if not exists letters_to_announce_by_clock on checkout.letters (account_id, test_mode, test_clock_id, valid_until)
  where status = 'approved' and end_announced_at is null and customer_id is not null and test_clock_id is not null;
