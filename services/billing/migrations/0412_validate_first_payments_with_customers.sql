alter table invoice_charges validate constraint charge_on_one_page;
