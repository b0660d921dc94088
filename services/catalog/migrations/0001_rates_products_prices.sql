-- What is sold and at which price. Every table leads with account and mode (invariant 6).

-- Refuses a change of what the interface calls immutable; the triggers say of which columns.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'a column of % that never changes was changed', tg_table_name using errcode = 'check_violation';
end $$;

create table shipping_rates (
  account_id text collate "C" not null,
  test_mode boolean not null,
  shipping_rate_id text collate "C" not null,
  active boolean not null default true,
  display_name text not null,
  amount_cents bigint not null,
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, shipping_rate_id),
  constraint shipping_rates_amount_range check (amount_cents between 0 and 9007199254740991),
  constraint shipping_rates_metadata_is_object check (jsonb_typeof(metadata) = 'object')
);
create index shipping_rates_by_active on shipping_rates (account_id, test_mode, active, shipping_rate_id);
create trigger shipping_rates_immutable before update on shipping_rates for each row
  when ((old.display_name, old.amount_cents, old.created_at) is distinct from (new.display_name, new.amount_cents, new.created_at))
  execute function refuse_change();

create table products (
  account_id text collate "C" not null,
  test_mode boolean not null,
  product_id text collate "C" not null,
  name text,
  description text,
  upc_code text,
  gtin text,
  reference_gtin text,
  url text,
  client_reference_id text collate "C",
  image_urls text[] not null default '{}',
  categories text[] not null default '{}',
  -- fcomp_ ids that the account has registered. Checked when written; components are never deleted.
  component_ids text[] not null default '{}',
  hsa_fsa_eligibility text collate "C",
  visit_type text,
  active boolean not null default true,
  -- Made for a cart line whose session has not been committed: in no list and not for sale.
  pending boolean not null default false,
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  -- '' stands for "not set": the foreign key of prices copies it, and a key with a null in it checks nothing.
  eligibility_key text collate "C" not null generated always as (coalesce(hsa_fsa_eligibility, '')) stored,
  primary key (account_id, test_mode, product_id),
  constraint products_as_prices_see_them unique (account_id, test_mode, product_id, active, eligibility_key),
  constraint products_class check (hsa_fsa_eligibility in ('not_eligible', 'auto_substantiation', 'private_label',
    'letter_of_medical_necessity', 'prescription', 'vision', 'service')),
  constraint products_pending_is_inactive check (not (pending and active)),
  constraint products_client_reference_length check (char_length(client_reference_id) <= 500),
  constraint products_metadata_is_object check (jsonb_typeof(metadata) = 'object')
);
create index products_listed on products (account_id, test_mode, pending, product_id);
create index products_by_active on products (account_id, test_mode, pending, active, product_id);
create index products_by_client_reference on products (account_id, test_mode, client_reference_id, product_id)
  where client_reference_id is not null;

create table prices (
  account_id text collate "C" not null,
  test_mode boolean not null,
  price_id text collate "C" not null,
  product_id text collate "C" not null,
  -- Copies of the product's, kept true by the foreign key: a list by state is one index scan, a read needs no join.
  product_active boolean not null,
  product_eligibility_key text collate "C" not null,
  description text,
  unit_amount_cents bigint not null,
  recurring_interval text,
  recurring_interval_count integer,
  trial_period_days integer,
  active boolean not null default true,
  pending boolean not null default false,
  -- Made by a cart line (price_data) rather than by the partner.
  inline boolean not null default false,
  lookup_key text collate "C",
  hsa_fsa_eligibility text collate "C",
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  -- Where a price is listed: a price of an archived product nowhere, even if it is active itself (interface, price list rule 4).
  listing text collate "C" not null generated always as (
    case when pending or not product_active then 'hidden' when active then 'active' else 'archived' end) stored,
  primary key (account_id, test_mode, price_id),
  constraint prices_product foreign key (account_id, test_mode, product_id, product_active, product_eligibility_key)
    references products (account_id, test_mode, product_id, active, eligibility_key) on update cascade,
  constraint prices_amount_range check (unit_amount_cents between 0 and 9007199254740991),
  constraint prices_class check (hsa_fsa_eligibility in ('not_eligible', 'auto_substantiation', 'private_label',
    'letter_of_medical_necessity', 'prescription', 'vision', 'service')),
  constraint prices_interval check (recurring_interval in ('day', 'week', 'month', 'year')),
  constraint prices_recurring_whole check (
    (recurring_interval is null) = (recurring_interval_count is null)
    and (recurring_interval is not null or trial_period_days is null)),
  constraint prices_interval_count_positive check (recurring_interval_count >= 1),
  constraint prices_trial_not_negative check (trial_period_days >= 0),
  constraint prices_pending_is_inactive check (not (pending and active)),
  constraint prices_lookup_key_length check (char_length(lookup_key) between 1 and 500),
  constraint prices_metadata_is_object check (jsonb_typeof(metadata) = 'object')
);
-- One holder for a key, archived prices included: a key that two prices could claim would name neither.
create unique index prices_lookup_key on prices (account_id, test_mode, lookup_key) where lookup_key is not null;
create index prices_listed on prices (account_id, test_mode, listing, price_id);
create index prices_by_product on prices (account_id, test_mode, product_id, listing, price_id);
create trigger prices_immutable before update on prices for each row
  when ((old.unit_amount_cents, old.recurring_interval, old.recurring_interval_count, old.trial_period_days, old.product_id,
         old.created_at, old.inline)
    is distinct from (new.unit_amount_cents, new.recurring_interval, new.recurring_interval_count, new.trial_period_days,
         new.product_id, new.created_at, new.inline))
  execute function refuse_change();

-- What a cart line made, under the session and the line's index: a repeated call finds it instead of making it again.
create table inline_lines (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  line_index integer not null,
  price_id text collate "C" not null,
  product_id text collate "C" not null,
  -- Whether the product was made with it, or was there.
  product_made boolean not null,
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, session_id, line_index)
);

do $$
declare name text;
begin
  foreach name in array array['shipping_rates', 'products', 'prices', 'inline_lines'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format($policy$create policy account_scope on %I using (
      account_id = nullif(current_setting('eligo.account_id', true), '')
      and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean)$policy$, name);
  end loop;
end $$;

-- A named exception of invariant 6: members of an organization read each other's single price, with its product. The function says whose
-- price an id is, among the accounts that it is given; GetPrice alone calls it, with the siblings of its caller, and then reads in that
-- account's own context. A policy for the service's role instead would stand as an "or" in the plan of every query on prices.
create policy sibling_price_read on prices for select to eligo_finder using (true);
grant select on prices to eligo_finder;
create function find_sibling_price(siblings text[], in_test_mode boolean, wanted text) returns text
  language sql stable security definer set search_path = :"schema", pg_temp as $$
    select account_id from prices
    where account_id = any(siblings) and test_mode = in_test_mode and price_id = wanted collate "C" limit 1
  $$;
alter function find_sibling_price owner to eligo_finder;
revoke all on function find_sibling_price from public;
grant execute on function find_sibling_price to :"role";

-- Nothing here is deleted: what was sold stays readable.
revoke delete on shipping_rates, products, prices, inline_lines from :"role";
