-- Whose a card is that was typed on the page of an invoice: the erasure of that customer finds it, also when nothing was ever charged.
alter table page_cards
  add column customer_id text collate "C",
  add constraint page_card_of_customer foreign key (account_id, test_mode, customer_id)
    references customers (account_id, test_mode, id) not valid,
  add constraint page_card_of_customers_invoice check (customer_id is null or invoice_id is not null) not valid;
