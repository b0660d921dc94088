-- How an account substantiates what HSA and FSA cards pay, who said so, and when. Null: it does not take them in live mode.
alter table gateway.accounts
  add column substantiation text,
  add column substantiation_set_by text,
  add column substantiation_set_at timestamptz(3);
alter table gateway.accounts
  add constraint accounts_substantiation check (substantiation in ('medical_mcc', 'ninety_percent', 'iias')) not valid,
  add constraint accounts_substantiation_is_someones_word check (
    (substantiation_set_by is null) = (substantiation_set_at is null)
    and (substantiation is null or substantiation_set_by is not null)) not valid;
