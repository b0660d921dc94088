-- A set-up whose bank asks the shopper of a page to authenticate waits for the answer: its name at the processor, since when it waits, and what the shopper gave, so
-- that whoever learns of the answer goes on with it. Null: every other set-up, and one whose answer was dealt with.
alter table checkout.setup_intents
  add column processor_setup_intent_id text collate "C",
  add column asked_at timestamptz(3),
  add column asked_of jsonb;
alter table checkout.setup_intents add constraint setup_intents_asked_is_whole
  check ((asked_at is null) = (processor_setup_intent_id is null) and (asked_at is null) = (asked_of is null)
    and (asked_at is null or status in ('processing', 'succeeded'))) not valid;
