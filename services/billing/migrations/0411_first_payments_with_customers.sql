-- The charge of a first payment, whose customer can authenticate on the partner's page.
alter table invoice_charges add column with_customer boolean not null default false;
alter table invoice_charges add constraint charge_on_one_page check (not (on_page and with_customer)) not valid;
