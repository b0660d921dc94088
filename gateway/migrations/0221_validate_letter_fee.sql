alter table gateway.accounts validate constraint accounts_letter_fee;
