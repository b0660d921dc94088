-- When the card that a customer set up was recorded, or found to be none that takes its place: once in the life of a subscription. Without it, the card would come
-- back after the partner cleared it.
alter table subscriptions add column set_up_recorded_at timestamptz(3);
