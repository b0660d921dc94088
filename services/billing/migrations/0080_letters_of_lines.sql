-- The letter of medical necessity by which a health card pays a line of a class that needs one.
alter table billing.invoice_lines
  add column letter_id text collate "C",
  add constraint eligible_by_its_letter check (
    eligibility is distinct from 'letter_of_medical_necessity' or eligible_cents = 0 or letter_id is not null) not valid;
