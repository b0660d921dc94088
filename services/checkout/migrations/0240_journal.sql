-- When the ledger is to be told of a capture; null once its event is in the outbox. The rows of earlier releases are due at once. What refunds reserve
-- and release is told by the refunds service, which journals it, too.
alter table checkout.ledger_entries add column tell_at timestamptz(3) default '2020-01-01 00:00:00+00';
alter table checkout.ledger_entries alter column tell_at set default clock_timestamp();
grant update (tell_at) on checkout.ledger_entries to :"role";
