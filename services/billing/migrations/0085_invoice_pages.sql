-- The page on which a customer pays an invoice, and the cards that were typed there.
-- pays_on_page: its next charges are of these cards, pay_with_payment_method_id and the backup, with the customer there.
alter table invoices
  add column page_url text,
  add column pays_on_page boolean not null default false,
  add column pay_with_backup_payment_method_id text collate "C",
  add constraint page_payment_names_a_card check (not pays_on_page or pay_with_payment_method_id is not null) not valid,
  add constraint backup_of_a_page_payment check (pays_on_page or pay_with_backup_payment_method_id is null) not valid;
alter table invoice_charges add column on_page boolean not null default false;
