-- The card of a shopper is typed on the page of a session, or on that of an invoice, which billing has.
alter table page_cards
  alter column session_id drop not null,
  add column invoice_id text collate "C",
  add constraint page_card_of_one_page check (num_nonnulls(session_id, invoice_id) = 1) not valid;
