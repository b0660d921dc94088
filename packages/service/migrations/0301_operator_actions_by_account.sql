-- eligo: no-transaction
-- The actions on one account, newest first: few rows of a long log.
create index concurrently if not exists operator_actions_by_account on operator_actions (account_id, number) where account_id is not null;
