alter table invoices validate constraint page_payment_names_a_card;
alter table invoices validate constraint backup_of_a_page_payment;
