-- When the shop was told that a hold is about to lapse. Null: it was not told.
alter table checkout.payment_intents add column lapse_announced_at timestamptz(3);

-- The job looks at a hold a day before it lapses, and the release before this one an hour before. Its holds are looked at a day before, too.
alter table checkout.payment_intents no force row level security;
update checkout.payment_intents set hold_check_at = capture_before - interval '24 hours'
  where status = 'requires_capture' and hold_check_at = capture_before - interval '1 hour';
alter table checkout.payment_intents force row level security;
