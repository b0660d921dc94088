-- What the account takes for the review of a letter of medical necessity; 0: nothing.
alter table gateway.accounts add column letter_fee_cents integer not null default 0;
alter table gateway.accounts add constraint accounts_letter_fee check (letter_fee_cents between 0 and 99999) not valid;
