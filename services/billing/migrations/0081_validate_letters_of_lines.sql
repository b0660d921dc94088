alter table billing.invoice_lines validate constraint eligible_by_its_letter;
