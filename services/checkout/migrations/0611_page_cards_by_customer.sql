-- eligo: no-transaction
-- The erasure of a customer finds the cards that were typed on the pages of the customer's invoices.
create index concurrently if not exists page_cards_by_customer on checkout.page_cards (account_id, test_mode, customer_id, payment_method_id)
  where customer_id is not null;
