-- eligo: no-transaction
drop index concurrently if exists test_clocks_advancing;
