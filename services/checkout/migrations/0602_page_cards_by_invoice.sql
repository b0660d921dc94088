-- eligo: no-transaction
-- The same for the pages of invoices.
create index concurrently if not exists page_cards_by_invoice on checkout.page_cards (account_id, test_mode, invoice_id)
  where invoice_id is not null;
