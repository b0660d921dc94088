-- eligo: no-transaction
-- The actions of one operator, newest first: few rows of a long log.
create index concurrently if not exists operator_actions_by_operator on operator_actions (operator_name, number);
