-- The set-up of a trial's other card names that of its default card. Null: every other set-up.
alter table checkout.setup_intents add column backup_of text collate "C";
alter table checkout.setup_intents add constraint setup_intents_backup_is_another check (backup_of <> id) not valid;
