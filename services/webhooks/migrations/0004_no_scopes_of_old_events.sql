-- eligo: contract
-- Old events are found by their ids (old_events), and nobody asks for their accounts any more.
drop function webhooks.scopes_with_old_events(timestamptz, integer);
