-- eligo: no-transaction
-- The actions of one operator on one account, newest first: few rows of a long log.
create index concurrently if not exists operator_actions_by_account_and_operator on operator_actions (account_id, operator_name, number) where account_id is not null;
