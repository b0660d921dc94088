-- What decides eligibility when neither the price nor the product says it. Nothing here is ever changed in place, so that the same
-- question asked as of the same moment has the same answer later.

-- A named exception of invariant 6: the list of product codes belongs to the installation, not to an account.
create table product_code_versions (
  version integer primary key,
  source text not null,
  -- Never in the past of the import: an answer that was given stays right.
  effective_at timestamptz(3) not null,
  imported_at timestamptz(3) not null default now(),
  rows_total integer not null,
  rows_added integer not null,
  rows_changed integer not null,
  rows_removed integer not null,
  constraint product_code_versions_not_backdated check (effective_at >= imported_at),
  constraint product_code_versions_positive check (version >= 1)
);
create index product_code_versions_by_effect on product_code_versions (effective_at, version);

-- A code as the versions version_from ≤ v < version_to of the list say it, for the time from effective_from until effective_to. Versions
-- are made by the statement that writes these rows; a foreign key would check two million of them one by one.
create table product_codes (
  gtin text collate "C" not null,
  effective_from timestamptz(3) not null default '-infinity',
  version_from integer not null,
  version_to integer,
  effective_to timestamptz(3) not null default 'infinity',
  hsa_fsa_eligibility text collate "C" not null,
  label text,
  primary key (gtin, effective_from, version_from),
  constraint product_codes_gtin check (gtin ~ '^[0-9]{14}$'),
  constraint product_codes_class check (hsa_fsa_eligibility in ('not_eligible', 'auto_substantiation', 'private_label',
    'letter_of_medical_necessity', 'prescription', 'vision', 'service')),
  constraint product_codes_effect check (effective_to > effective_from),
  constraint product_codes_versions check (version_to > version_from)
);
-- The current state of the list, which an import is compared with.
create unique index product_codes_current on product_codes (gtin, effective_from) where version_to is null;

-- Where an import is laid out before it is compared; empty in between. Not logged: an import that dies is run again.
create unlogged table product_code_staging (
  line integer not null,
  gtin text collate "C" not null,
  effective_from timestamptz(3) not null,
  effective_to timestamptz(3) not null,
  hsa_fsa_eligibility text collate "C" not null,
  label text
);

create unlogged table product_code_changes (
  is_new boolean not null,
  is_gone boolean not null,
  gtin text collate "C" not null,
  effective_from timestamptz(3) not null,
  effective_to timestamptz(3),
  hsa_fsa_eligibility text collate "C",
  label text
);

-- Thresholds per 100 g (decisions 9). Account '' holds the default.
create table food_policies (
  account_id text collate "C" not null,
  test_mode boolean not null,
  version integer not null,
  effective_at timestamptz(3) not null,
  -- {"eligible_class": …, "categories": {"<category or *>": {"added_sugar_g": "5", …}}}
  thresholds jsonb not null,
  created_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode, version),
  constraint food_policies_positive check (version >= 1),
  constraint food_policies_shape check (jsonb_typeof(thresholds) = 'object' and jsonb_typeof(thresholds -> 'categories') = 'object'
    and thresholds ->> 'eligible_class' in ('auto_substantiation', 'private_label', 'letter_of_medical_necessity', 'service'))
);
create index food_policies_by_effect on food_policies (account_id, test_mode, effective_at, version);
create trigger food_policies_immutable before update on food_policies for each row execute function refuse_change();

insert into food_policies (account_id, test_mode, version, effective_at, thresholds)
select '', mode, 1, '-infinity', '{
  "eligible_class": "auto_substantiation",
  "categories": {"*": {"added_sugar_g": "5", "sodium_mg": "600", "saturated_fat_g": "5", "trans_fat_g": "0.5"}}
}'::jsonb
from unnest(array[true, false]) mode;

alter table food_policies enable row level security;
alter table food_policies force row level security;
create policy account_scope on food_policies using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
-- A named exception of invariant 6: the default policy is everybody's to read.
create policy default_policy_read on food_policies for select using (account_id = '');

-- What is written once stays: the role may add, and change only what the triggers let it.
grant truncate on product_code_staging, product_code_changes to :"role";
revoke delete on product_code_versions, product_codes, food_policies from :"role";
revoke update on product_code_versions, food_policies from :"role";
