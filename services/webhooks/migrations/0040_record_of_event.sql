-- Which record an event is about, so that a session's timeline can say whether its partner was told. Null: an event from before.
alter table webhooks.events add column record_id text collate "C";
