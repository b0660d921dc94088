-- `account_requirement` is the purpose of a document about the account itself. The release before this one writes the other one alone.
alter table gateway.files drop constraint files_purpose_check;
alter table gateway.files add constraint files_purpose_check check (purpose in ('account_requirement', 'dispute_evidence')) not valid;
