-- eligo: no-transaction
-- The letters that serve a customer's next session.
create index concurrently letters_valid on checkout.letters (account_id, test_mode, customer_id, product_id, valid_until)
  where status = 'approved';
