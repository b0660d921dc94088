-- A confirm whose health card may be approved for a part is a plan, too. Its cards pay what is eligible, and nothing else: the other card pays just what the
-- health card was asked for and lacked.
alter table checkout.payment_plans add column eligible_only boolean not null default false;
alter table checkout.payment_plans add constraint eligible_only_pays_what_was_asked
  check (not eligible_only or other_cents = coalesce(asked_cents - health_cents, 0)) not valid;
