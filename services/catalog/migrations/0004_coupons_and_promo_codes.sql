-- Discounts and the counting of their redemptions.

create table coupons (
  account_id text collate "C" not null,
  test_mode boolean not null,
  coupon_id text collate "C" not null,
  name text,
  amount_off_cents bigint,
  -- Hundredths of a percent: 3000 is 30 %.
  percent_off_basis_points integer,
  duration text not null,
  duration_in_months integer,
  max_redemptions integer,
  times_redeemed integer not null default 0,
  product_ids text[] not null default '{}',
  price_ids text[] not null default '{}',
  -- Made from a session's coupon_data: in no list, and for that session alone.
  inline boolean not null default false,
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,
  deleted_at timestamptz(3),
  primary key (account_id, test_mode, coupon_id),
  constraint coupons_amount_or_percent check ((amount_off_cents is null) <> (percent_off_basis_points is null)),
  constraint coupons_amount_range check (amount_off_cents between 0 and 9007199254740991),
  constraint coupons_percent_range check (percent_off_basis_points between 1 and 10000),
  constraint coupons_duration check (duration in ('once', 'repeating', 'forever')),
  constraint coupons_months check ((duration = 'repeating') = (duration_in_months is not null) and duration_in_months >= 1
    or duration <> 'repeating' and duration_in_months is null),
  constraint coupons_max_positive check (max_redemptions >= 1),
  constraint coupons_redeemed_within_limit check (times_redeemed >= 0 and times_redeemed <= coalesce(max_redemptions, 2147483647)),
  constraint coupons_one_restriction check (product_ids = '{}' or price_ids = '{}'),
  constraint coupons_metadata_is_object check (jsonb_typeof(metadata) = 'object')
);
create index coupons_listed on coupons (account_id, test_mode, inline, coupon_id);
create trigger coupons_immutable before update on coupons for each row
  when ((old.amount_off_cents, old.percent_off_basis_points, old.duration, old.duration_in_months, old.product_ids, old.price_ids,
         old.inline, old.created_at)
    is distinct from (new.amount_off_cents, new.percent_off_basis_points, new.duration, new.duration_in_months, new.product_ids,
         new.price_ids, new.inline, new.created_at))
  execute function refuse_change();

-- What coupon_data of a session made, under the session and the discount's index.
create table inline_coupons (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  discount_index integer not null,
  coupon_id text collate "C" not null,
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, session_id, discount_index)
);

create table promo_codes (
  account_id text collate "C" not null,
  test_mode boolean not null,
  promo_code_id text collate "C" not null,
  code text not null,
  -- The code after Unicode NFKC and case folding.
  code_key text collate "C" not null,
  coupon_id text collate "C" not null,
  customer_id text collate "C",
  max_redemptions integer,
  times_redeemed integer not null default 0,
  active boolean not null default true,
  expires_at timestamptz(3),
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, promo_code_id),
  constraint promo_codes_coupon foreign key (account_id, test_mode, coupon_id)
    references coupons (account_id, test_mode, coupon_id),
  constraint promo_codes_code_length check (char_length(code) between 1 and 500 and char_length(code_key) between 1 and 600),
  constraint promo_codes_max_positive check (max_redemptions >= 1),
  constraint promo_codes_redeemed_within_limit check (times_redeemed >= 0
    and times_redeemed <= coalesce(max_redemptions, 2147483647)),
  constraint promo_codes_metadata_is_object check (jsonb_typeof(metadata) = 'object')
);
create unique index promo_codes_active_code on promo_codes (account_id, test_mode, code_key) where active;
create index promo_codes_by_code on promo_codes (account_id, test_mode, code_key, promo_code_id);
create index promo_codes_by_coupon on promo_codes (account_id, test_mode, coupon_id, promo_code_id);
create index promo_codes_by_customer on promo_codes (account_id, test_mode, customer_id, promo_code_id)
  where customer_id is not null;
create index promo_codes_by_active on promo_codes (account_id, test_mode, active, promo_code_id);
create trigger promo_codes_immutable before update on promo_codes for each row
  when ((old.code, old.code_key, old.coupon_id, old.customer_id, old.max_redemptions, old.expires_at, old.created_at)
    is distinct from (new.code, new.code_key, new.coupon_id, new.customer_id, new.max_redemptions, new.expires_at, new.created_at))
  execute function refuse_change();

-- What a session holds of the limits. A row without subjects and with state released is a release that overtook its reservation.
create table redemptions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  state text not null,
  coupon_ids text[] not null,
  promo_code_ids text[] not null,
  created_at timestamptz(3) not null default now(),
  settled_at timestamptz(3),
  primary key (account_id, test_mode, session_id),
  constraint redemptions_state check (state in ('reserved', 'final', 'released')),
  constraint redemptions_settled check ((state = 'reserved') = (settled_at is null))
);
create function refuse_redemption_move() returns trigger language plpgsql as $$
begin
  raise exception 'a settled redemption does not move' using errcode = 'check_violation';
end $$;
create trigger redemptions_moves before update on redemptions for each row
  when (old.state <> 'reserved' and old.state <> new.state) execute function refuse_redemption_move();

do $$
declare name text;
begin
  foreach name in array array['coupons', 'inline_coupons', 'promo_codes', 'redemptions'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format($policy$create policy account_scope on %I using (
      account_id = nullif(current_setting('eligo.account_id', true), '')
      and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean)$policy$, name);
  end loop;
end $$;

-- Nothing here is deleted: what was sold stays readable.
revoke delete on coupons, inline_coupons, promo_codes, redemptions from :"role";
