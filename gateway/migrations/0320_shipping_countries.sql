-- Where the shoppers of an account may have their orders sent: country codes, with commas between them. Null: the United States alone.
alter table gateway.accounts
  add column shipping_countries text collate "C" check (shipping_countries ~ '^[A-Z]{2}(,[A-Z]{2}){0,249}$');
