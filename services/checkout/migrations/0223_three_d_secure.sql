-- What the session asked for when its shopper is there to authenticate: 'automatic', 'any' or 'challenge'. Null: nothing, or nobody is there. Kept with the attempt,
-- so that a resend sends the same bytes.
create type checkout.three_d_secure as enum ('automatic', 'any', 'challenge');
alter table checkout.charge_attempts add column three_d_secure checkout.three_d_secure;
