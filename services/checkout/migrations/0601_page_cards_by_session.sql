-- eligo: no-transaction
-- The erasure of a customer finds the cards that were typed on the pages of the customer's sessions.
create index concurrently if not exists page_cards_by_session on checkout.page_cards (account_id, test_mode, session_id)
  where session_id is not null;
