-- Test clocks, customers and their payment methods.

-- A mirror of billing's clocks, so that every action reads its customer's time without a call upward.
create table checkout.test_clocks (
  account_id text collate "C" not null,
  test_mode boolean not null check (test_mode),
  id text collate "C" not null,
  frozen_time timestamptz(3) not null,
  deleted_at timestamptz(3),
  -- Set with each move of the clock, until nothing of it is due any more: only these clocks are looked at.
  unsettled boolean not null default true,
  primary key (account_id, test_mode, id)
);
create index test_clocks_unsettled on checkout.test_clocks (account_id, test_mode, id) where unsettled;

create table checkout.customers (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  first_name text,
  last_name text,
  email text,
  phone text,
  employer text,
  shipping jsonb,
  metadata jsonb not null default '{}',
  test_clock_id text collate "C",
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  deleted_at timestamptz(3),
  -- Only the sandbox processor knows test customers; made when a payment method first needs it.
  processor_customer_id text collate "C",
  version bigint not null default 1,
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, test_clock_id) references checkout.test_clocks (account_id, test_mode, id)
);
create index customers_by_email on checkout.customers (account_id, test_mode, email, id) where deleted_at is null;

create table checkout.payment_methods (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  customer_id text collate "C",
  processor_payment_method_id text collate "C" not null,
  processor_customer_id text collate "C",
  type text not null default 'card' check (type = 'card'),
  off_session boolean not null,
  brand text not null,
  country text not null,
  exp_month smallint not null check (exp_month between 1 and 12),
  exp_year smallint not null check (exp_year between 2000 and 9999),
  funding text not null,
  last4 text not null check (last4 ~ '^[0-9]{4}$'),
  -- Null: not known.
  hsa_fsa boolean,
  billing_details jsonb not null default '{}',
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,
  -- The processor lets no one use a detached card again.
  detached_at timestamptz(3),
  version bigint not null default 1,
  primary key (account_id, test_mode, id),
  unique (account_id, test_mode, processor_payment_method_id),
  foreign key (account_id, test_mode, customer_id) references checkout.customers (account_id, test_mode, id)
);
create index payment_methods_by_customer on checkout.payment_methods (account_id, test_mode, customer_id, id)
  where customer_id is not null;

do $$
declare
  name text;
begin
  foreach name in array array['test_clocks', 'customers', 'payment_methods'] loop
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
