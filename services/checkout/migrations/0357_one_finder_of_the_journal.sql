-- eligo: contract
-- `journal_turns` took its place.
drop function checkout.due_journal(integer);
