-- Product components. Their names are shared by all accounts, what an account knows about them is its own.

-- A named exception of invariant 6: one table of names per mode. It holds no account and no spelling, only the SHA-256 of the name after
-- Unicode NFKC and case folding, so that it tells nobody what others registered.
create table component_names (
  test_mode boolean not null,
  name_hash bytea not null,
  component_id text collate "C" not null,
  created_at timestamptz(3) not null,
  primary key (test_mode, name_hash),
  constraint component_names_component unique (test_mode, component_id),
  constraint component_names_hash_length check (octet_length(name_hash) = 32)
);

create table component_nutrition (
  account_id text collate "C" not null,
  test_mode boolean not null,
  component_nutrition_id text collate "C" not null,
  component_id text collate "C" not null,
  -- As this account spells it.
  name text not null,
  -- Whether another account had registered the name before; fixed at registration.
  shared boolean not null,
  category text,
  serving_size_g numeric(15, 6),
  -- Per 100 g, six decimals.
  calories numeric(15, 6),
  total_fat_g numeric(15, 6),
  saturated_fat_g numeric(15, 6),
  trans_fat_g numeric(15, 6),
  carbohydrate_g numeric(15, 6),
  fiber_g numeric(15, 6),
  protein_g numeric(15, 6),
  sodium_mg numeric(15, 6),
  added_sugar_g numeric(15, 6),
  vegan boolean,
  gluten_free boolean,
  canonical_food_key text,
  client_reference_id text collate "C",
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (account_id, test_mode, component_nutrition_id),
  constraint component_nutrition_registered_once unique (account_id, test_mode, component_id),
  constraint component_nutrition_name foreign key (test_mode, component_id)
    references component_names (test_mode, component_id),
  constraint component_nutrition_serving_positive check (serving_size_g > 0),
  constraint component_nutrition_not_negative check (
    least(calories, total_fat_g, saturated_fat_g, trans_fat_g, carbohydrate_g, fiber_g, protein_g, sodium_mg, added_sugar_g) >= 0),
  constraint component_nutrition_client_reference_length check (char_length(client_reference_id) <= 500),
  constraint component_nutrition_metadata_is_object check (jsonb_typeof(metadata) = 'object')
);
create unique index component_nutrition_client_reference on component_nutrition (account_id, test_mode, client_reference_id)
  where client_reference_id is not null;
create trigger component_nutrition_immutable before update on component_nutrition for each row
  when ((old.component_id, old.name, old.shared, old.created_at) is distinct from (new.component_id, new.name, new.shared, new.created_at))
  execute function refuse_change();

alter table component_nutrition enable row level security;
alter table component_nutrition force row level security;
create policy account_scope on component_nutrition using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);

-- Nothing here is deleted: what was sold stays readable.
revoke delete on component_names, component_nutrition from :"role";
revoke update on component_names from :"role";
