-- Checkout sessions, their lines, fees and discounts, and the eligibility record that a confirm charges.
-- The split is made once, at creation, and stored (decisions 6): the triggers below keep it from changing.

create table checkout.sessions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  status text collate "C" not null check (status in ('open', 'paid', 'complete', 'canceled', 'expired')),
  mode text collate "C" not null check (mode in ('payment', 'subscription', 'off_session', 'setup', 'reimbursement')),
  capture_method text collate "C" not null check (capture_method in ('automatic', 'manual')),
  customer_id text collate "C",
  customer_email text,
  test_clock_id text collate "C",
  payment_method_id text collate "C",
  client_reference_id text collate "C",
  setup_future_use text collate "C",
  amount_subtotal_cents bigint not null check (amount_subtotal_cents >= 0),
  amount_discount_cents bigint not null check (amount_discount_cents between 0 and amount_subtotal_cents),
  amount_tax_cents bigint not null check (amount_tax_cents >= 0),
  amount_shipping_cents bigint not null check (amount_shipping_cents >= 0),
  amount_fee_cents bigint not null check (amount_fee_cents >= 0),
  amount_total_cents bigint not null,
  amount_eligible_cents bigint not null,
  amount_iias_cents bigint not null check (amount_iias_cents >= 0),
  amount_prescription_cents bigint not null check (amount_prescription_cents >= 0),
  amount_vision_cents bigint not null check (amount_vision_cents >= 0),
  amount_service_cents bigint not null check (amount_service_cents >= 0),
  amount_received_cents bigint not null default 0,
  amount_refunded_cents bigint not null default 0,
  amount_disputed_cents bigint not null default 0,
  letter_required boolean not null,
  letter_fee_cents bigint check (letter_fee_cents >= 0),
  letter_fee_status text collate "C",
  fee_count smallint not null default 0,
  discount_count smallint not null default 0,
  visit_type text,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  completed_at timestamptz(3),
  ended_at timestamptz(3),
  renewal_as_of timestamptz(3),
  payment_intent_ids text[] not null default '{}',
  refund_ids text[] not null default '{}',
  capture_ids text[] not null default '{}',
  dispute_ids text[] not null default '{}',
  -- Its eligibility record; null for a session without lines.
  split_cart_id text collate "C",
  setup_intent_id text collate "C",
  subscription_id text collate "C",
  invoice_id text collate "C",
  next_action jsonb,
  storefront_payment_details jsonb,
  shipping_details jsonb,
  metadata jsonb not null default '{}',
  -- What is only rendered back; it holds no amount.
  details jsonb not null default '{}',
  version bigint not null default 1,
  -- What was captured of each component, and what has been given back of it.
  captured_tax_cents bigint not null default 0,
  captured_shipping_cents bigint not null default 0,
  captured_discount_cents bigint not null default 0,
  refunded_tax_cents bigint not null default 0,
  refunded_shipping_cents bigint not null default 0,
  refunded_discount_cents bigint not null default 0,
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, customer_id) references checkout.customers (account_id, test_mode, id),
  constraint total_is_the_sum_of_its_parts check (
    amount_total_cents
      = amount_subtotal_cents - amount_discount_cents + amount_tax_cents + amount_shipping_cents + amount_fee_cents
  ),
  constraint eligible_within_total check (amount_eligible_cents between 0 and amount_total_cents),
  constraint buckets_within_eligible check (
    amount_iias_cents + amount_prescription_cents + amount_vision_cents + amount_service_cents <= amount_eligible_cents
  ),
  constraint received_within_total check (amount_received_cents between 0 and amount_total_cents),
  constraint refunded_within_received check (amount_refunded_cents between 0 and amount_received_cents),
  constraint disputed_within_received check (amount_disputed_cents between 0 and amount_received_cents),
  constraint sessions_refunded_tax check (refunded_tax_cents between 0 and captured_tax_cents),
  constraint sessions_refunded_shipping check (refunded_shipping_cents between 0 and captured_shipping_cents),
  constraint sessions_refunded_discount check (refunded_discount_cents between 0 and captured_discount_cents)
);
create index sessions_by_customer on checkout.sessions (account_id, test_mode, customer_id, id) where customer_id is not null;
create index sessions_by_email on checkout.sessions (account_id, test_mode, customer_email, id) where customer_email is not null;
create index sessions_by_status on checkout.sessions (account_id, test_mode, status, id);
create index sessions_by_mode on checkout.sessions (account_id, test_mode, mode, id);
create index sessions_by_reference on checkout.sessions (account_id, test_mode, client_reference_id, id)
  where client_reference_id is not null;
create index sessions_by_subscription on checkout.sessions (account_id, test_mode, subscription_id, id)
  where subscription_id is not null;
create index sessions_by_created_at on checkout.sessions (account_id, test_mode, created_at, id);
create index sessions_disputed on checkout.sessions (account_id, test_mode, id) where dispute_ids <> '{}';
create index sessions_due on checkout.sessions (expires_at) where status = 'open' and test_clock_id is null;
create index sessions_due_by_clock on checkout.sessions (account_id, test_mode, test_clock_id, expires_at)
  where status = 'open' and test_clock_id is not null;

create table checkout.session_lines (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  id text collate "C" not null,
  position smallint not null check (position >= 0),
  price_id text collate "C" not null,
  product_id text collate "C" not null,
  description text,
  quantity bigint not null check (quantity >= 1),
  unit_amount_cents bigint not null check (unit_amount_cents >= 0),
  amount_subtotal_cents bigint not null,
  amount_discount_cents bigint not null,
  amount_tax_cents bigint not null check (amount_tax_cents >= 0),
  amount_shipping_cents bigint not null check (amount_shipping_cents >= 0),
  amount_fee_cents bigint not null check (amount_fee_cents >= 0),
  amount_total_cents bigint not null,
  amount_eligible_cents bigint not null,
  eligibility_class text collate "C",
  eligibility_rule text collate "C" not null,
  eligibility_rule_version text collate "C" not null,
  rationale text not null,
  recurring_interval text collate "C" check (recurring_interval in ('day', 'week', 'month', 'year')),
  recurring_interval_count integer check (recurring_interval_count >= 1),
  recurring_trial_days integer check (recurring_trial_days >= 0),
  amount_captured_cents bigint not null default 0,
  amount_refunded_cents bigint not null default 0,
  -- Which card paid it.
  payment_intent_id text collate "C",
  primary key (account_id, test_mode, id),
  unique (account_id, test_mode, session_id, position),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id),
  constraint line_subtotal_is_price_times_quantity check (amount_subtotal_cents = unit_amount_cents * quantity),
  constraint no_line_below_zero check (amount_discount_cents between 0 and amount_subtotal_cents),
  constraint line_total_is_the_sum_of_its_parts check (
    amount_total_cents
      = amount_subtotal_cents - amount_discount_cents + amount_tax_cents + amount_shipping_cents + amount_fee_cents
  ),
  constraint line_is_eligible_whole_or_not_at_all check (amount_eligible_cents in (0, amount_total_cents)),
  constraint eligible_line_has_a_class check (
    amount_eligible_cents = 0 or (eligibility_class is not null and eligibility_class <> 'not_eligible')
  ),
  constraint line_captured_within_total check (amount_captured_cents between 0 and amount_total_cents),
  constraint line_refunded_within_captured check (amount_refunded_cents between 0 and amount_captured_cents),
  constraint recurring_is_whole check ((recurring_interval is null) = (recurring_interval_count is null))
);

create table checkout.session_fees (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  id text collate "C" not null,
  position smallint not null check (position >= 0),
  amount_cents bigint not null check (amount_cents >= 0),
  name text,
  description text,
  fee_type text,
  applied boolean not null,
  waived_reason text collate "C",
  primary key (account_id, test_mode, id),
  unique (account_id, test_mode, session_id, position),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id),
  constraint waived_for_a_reason check (applied or waived_reason is not null)
);

create table checkout.session_discounts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  id text collate "C" not null,
  position smallint not null check (position >= 0),
  coupon_id text collate "C" not null,
  promo_code_id text collate "C",
  -- The coupon as it stood when the discount was made: the JSON form of eligo.catalog.v1.Coupon (its int64 are strings).
  coupon jsonb not null,
  amount_cents bigint not null check (amount_cents >= 0),
  primary key (account_id, test_mode, id),
  unique (account_id, test_mode, session_id, position),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id)
);

-- Which sessions came from an order of which selling plan; an array could not be searched under row-level security.
create table checkout.session_selling_plans (
  account_id text collate "C" not null,
  test_mode boolean not null,
  selling_plan_id text collate "C" not null,
  session_id text collate "C" not null,
  primary key (account_id, test_mode, selling_plan_id, session_id),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id)
);

-- The split cart: what a health card may be charged for this session, decided once. A confirm charges it at most once.
create table checkout.eligibility_records (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  session_id text collate "C" not null,
  eligible_cents bigint not null check (eligible_cents >= 0),
  -- Whether the split relied on the food policy, and on which version of it.
  food_policy boolean not null,
  policy_version text collate "C",
  charged_attempt_id text collate "C",
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id),
  unique (account_id, test_mode, session_id),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id),
  constraint policy_has_a_version check (not food_policy or policy_version is not null)
);

-- decisions 1.1: the same key and body answers with the same session while that is open, paid or complete; the last session of a key counts.
create table checkout.session_keys (
  account_id text collate "C" not null,
  test_mode boolean not null,
  key text collate "C" not null check (octet_length(key) between 1 and 255),
  request_hash bytea not null,
  session_id text collate "C" not null,
  created_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode, key)
);
create index session_keys_by_age on checkout.session_keys (created_at);

-- What is still to be done at the catalog for a session; noted with the change that asks for it, since no call is made inside a transaction.
create table checkout.catalog_tasks (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  -- Redemptions: finalize, release, or release if the session was never written; activate: what its inline lines made.
  kind text collate "C" not null check (kind in ('finalize', 'release', 'release_unless_written', 'activate')),
  due_at timestamptz(3) not null,
  tries integer not null default 0,
  created_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode, session_id, kind)
);
create index catalog_tasks_due on checkout.catalog_tasks (due_at);

do $$
declare
  name text;
begin
  foreach name in array array[
    'sessions', 'session_lines', 'session_fees', 'session_discounts', 'session_selling_plans',
    'eligibility_records', 'session_keys', 'catalog_tasks'
  ] loop
    execute format('alter table checkout.%I enable row level security', name);
    execute format('alter table checkout.%I force row level security', name);
    execute format(
      'create policy own_rows on checkout.%I using (account_id = nullif(current_setting(''eligo.account_id'', true), '''')'
      ' and test_mode = (nullif(current_setting(''eligo.test_mode'', true), ''''))::boolean)',
      name
    );
    execute format('grant select, insert, update, delete on checkout.%I to eligo_checkout', name);
  end loop;
end $$;
