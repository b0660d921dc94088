-- Schema catalog, as its migrations leave it.

grant create, usage on schema catalog to eligo_finder;

grant usage on schema catalog to eligo_catalog;

create table component_names (
  test_mode boolean not null,
  name_hash bytea not null,
  component_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  constraint component_names_pkey PRIMARY KEY (test_mode, name_hash),
  constraint component_names_component UNIQUE (test_mode, component_id),
  constraint component_names_hash_length CHECK ((octet_length(name_hash) = 32))
);
grant insert, select on component_names to eligo_catalog;

create table component_nutrition (
  account_id text collate "C" not null,
  test_mode boolean not null,
  component_nutrition_id text collate "C" not null,
  component_id text collate "C" not null,
  name text not null,
  shared boolean not null,
  category text,
  serving_size_g numeric(15,6),
  calories numeric(15,6),
  total_fat_g numeric(15,6),
  saturated_fat_g numeric(15,6),
  trans_fat_g numeric(15,6),
  carbohydrate_g numeric(15,6),
  fiber_g numeric(15,6),
  protein_g numeric(15,6),
  sodium_mg numeric(15,6),
  added_sugar_g numeric(15,6),
  vegan boolean,
  gluten_free boolean,
  canonical_food_key text,
  client_reference_id text collate "C",
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone not null,
  updated_at timestamp(3) with time zone not null,
  constraint component_nutrition_pkey PRIMARY KEY (account_id, test_mode, component_nutrition_id),
  constraint component_nutrition_registered_once UNIQUE (account_id, test_mode, component_id),
  constraint component_nutrition_name FOREIGN KEY (test_mode, component_id) REFERENCES component_names(test_mode, component_id),
  constraint component_nutrition_client_reference_length CHECK ((char_length(client_reference_id) <= 500)),
  constraint component_nutrition_metadata_is_object CHECK ((jsonb_typeof(metadata) = 'object'::text)),
  constraint component_nutrition_not_negative CHECK ((LEAST(calories, total_fat_g, saturated_fat_g, trans_fat_g, carbohydrate_g, fiber_g, protein_g, sodium_mg, added_sugar_g) >= (0)::numeric)),
  constraint component_nutrition_serving_positive CHECK ((serving_size_g > (0)::numeric))
);
alter table component_nutrition enable row level security;
alter table component_nutrition force row level security;
create policy account_scope on component_nutrition for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE UNIQUE INDEX component_nutrition_client_reference ON catalog.component_nutrition USING btree (account_id, test_mode, client_reference_id) WHERE (client_reference_id IS NOT NULL);
CREATE TRIGGER component_nutrition_immutable BEFORE UPDATE ON catalog.component_nutrition FOR EACH ROW WHEN (((((old.component_id IS DISTINCT FROM new.component_id) OR (old.name IS DISTINCT FROM new.name)) OR (old.shared IS DISTINCT FROM new.shared)) OR (old.created_at IS DISTINCT FROM new.created_at))) EXECUTE FUNCTION refuse_change();
grant insert, select, update on component_nutrition to eligo_catalog;

create table coupons (
  account_id text collate "C" not null,
  test_mode boolean not null,
  coupon_id text collate "C" not null,
  name text,
  amount_off_cents bigint,
  percent_off_basis_points integer,
  duration text not null,
  duration_in_months integer,
  max_redemptions integer,
  times_redeemed integer default 0 not null,
  product_ids text[] default '{}'::text[] not null,
  price_ids text[] default '{}'::text[] not null,
  inline boolean default false not null,
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone not null,
  deleted_at timestamp(3) with time zone,
  pending boolean default false not null,
  constraint coupons_pkey PRIMARY KEY (account_id, test_mode, coupon_id),
  constraint coupons_amount_or_percent CHECK (((amount_off_cents IS NULL) <> (percent_off_basis_points IS NULL))),
  constraint coupons_amount_range CHECK (((amount_off_cents >= 0) AND (amount_off_cents <= '9007199254740991'::bigint))),
  constraint coupons_duration CHECK ((duration = ANY (ARRAY['once'::text, 'repeating'::text, 'forever'::text]))),
  constraint coupons_max_positive CHECK ((max_redemptions >= 1)),
  constraint coupons_metadata_is_object CHECK ((jsonb_typeof(metadata) = 'object'::text)),
  constraint coupons_months CHECK (((((duration = 'repeating'::text) = (duration_in_months IS NOT NULL)) AND (duration_in_months >= 1)) OR ((duration <> 'repeating'::text) AND (duration_in_months IS NULL)))),
  constraint coupons_one_restriction CHECK (((product_ids = '{}'::text[]) OR (price_ids = '{}'::text[]))),
  constraint coupons_pending_is_unused CHECK (((NOT pending) OR (inline AND (times_redeemed = 0)))),
  constraint coupons_percent_range CHECK (((percent_off_basis_points >= 1) AND (percent_off_basis_points <= 10000))),
  constraint coupons_redeemed_within_limit CHECK (((times_redeemed >= 0) AND (times_redeemed <= COALESCE(max_redemptions, 2147483647))))
);
alter table coupons enable row level security;
alter table coupons force row level security;
create policy abandoned_coupon_read on coupons for select to eligo_finder
  using (true);
create policy account_scope on coupons for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX coupons_listed ON catalog.coupons USING btree (account_id, test_mode, inline, coupon_id);
CREATE INDEX coupons_pending ON catalog.coupons USING btree (created_at) WHERE (pending AND inline);
CREATE TRIGGER coupons_deleted_pending BEFORE DELETE ON catalog.coupons FOR EACH ROW WHEN ((NOT old.pending)) EXECUTE FUNCTION refuse_unless_pending();
CREATE TRIGGER coupons_immutable BEFORE UPDATE ON catalog.coupons FOR EACH ROW WHEN (((((((((old.amount_off_cents IS DISTINCT FROM new.amount_off_cents) OR (old.percent_off_basis_points IS DISTINCT FROM new.percent_off_basis_points)) OR (old.duration IS DISTINCT FROM new.duration)) OR (old.duration_in_months IS DISTINCT FROM new.duration_in_months)) OR (old.product_ids IS DISTINCT FROM new.product_ids)) OR (old.price_ids IS DISTINCT FROM new.price_ids)) OR (old.inline IS DISTINCT FROM new.inline)) OR (old.created_at IS DISTINCT FROM new.created_at))) EXECUTE FUNCTION refuse_change();
grant delete, insert, select, update on coupons to eligo_catalog;
grant select on coupons to eligo_finder;

create table dead_letters (
  consumer text collate "C" not null,
  event_id text collate "C" not null,
  type text collate "C" not null,
  account_id text collate "C" not null,
  test_mode boolean not null,
  payload bytea not null,
  error text not null,
  deliveries integer not null,
  created_at timestamp(3) with time zone default now() not null,
  redrive_at timestamp(3) with time zone,
  redrives integer default 0 not null,
  constraint dead_letters_pkey PRIMARY KEY (consumer, event_id)
);
CREATE INDEX dead_letters_by_event ON catalog.dead_letters USING btree (event_id, consumer);
CREATE INDEX dead_letters_redrive ON catalog.dead_letters USING btree (consumer, redrive_at) WHERE (redrive_at IS NOT NULL);
grant delete, insert, select, update on dead_letters to eligo_catalog;

create table food_policies (
  account_id text collate "C" not null,
  test_mode boolean not null,
  version integer not null,
  effective_at timestamp(3) with time zone not null,
  thresholds jsonb not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint food_policies_pkey PRIMARY KEY (account_id, test_mode, version),
  constraint food_policies_not_backdated CHECK (((effective_at >= created_at) OR (effective_at = '-infinity'::timestamp with time zone))) NOT VALID,
  constraint food_policies_positive CHECK ((version >= 1)),
  constraint food_policies_shape CHECK (((jsonb_typeof(thresholds) = 'object'::text) AND (jsonb_typeof((thresholds -> 'categories'::text)) = 'object'::text) AND ((thresholds ->> 'eligible_class'::text) = ANY (ARRAY['auto_substantiation'::text, 'private_label'::text, 'letter_of_medical_necessity'::text, 'service'::text]))))
);
alter table food_policies enable row level security;
alter table food_policies force row level security;
create policy account_scope on food_policies for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
create policy default_policy_read on food_policies for select to public
  using ((account_id = ''::text));
CREATE INDEX food_policies_by_effect ON catalog.food_policies USING btree (account_id, test_mode, effective_at, version);
CREATE TRIGGER food_policies_immutable BEFORE UPDATE ON catalog.food_policies FOR EACH ROW EXECUTE FUNCTION refuse_change();
grant insert, select on food_policies to eligo_catalog;

create table inbox (
  consumer text collate "C" not null,
  event_id text collate "C" not null,
  handled_at timestamp(3) with time zone default now() not null,
  constraint inbox_pkey PRIMARY KEY (consumer, event_id)
);
grant delete, select on inbox to eligo_finder;
grant insert, select on inbox to eligo_catalog;

create table inline_coupons (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  discount_index integer not null,
  coupon_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  constraint inline_coupons_pkey PRIMARY KEY (account_id, test_mode, session_id, discount_index),
  constraint inline_coupons_coupon FOREIGN KEY (account_id, test_mode, coupon_id) REFERENCES coupons(account_id, test_mode, coupon_id) DEFERRABLE INITIALLY DEFERRED
);
alter table inline_coupons enable row level security;
alter table inline_coupons force row level security;
create policy abandoned_coupon_read on inline_coupons for select to eligo_finder
  using (true);
create policy account_scope on inline_coupons for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX inline_coupons_by_coupon ON catalog.inline_coupons USING btree (account_id, test_mode, coupon_id);
grant delete, insert, select on inline_coupons to eligo_catalog;
grant select on inline_coupons to eligo_finder;

create table inline_lines (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  line_index integer not null,
  price_id text collate "C" not null,
  product_id text collate "C" not null,
  product_made boolean not null,
  created_at timestamp(3) with time zone not null,
  constraint inline_lines_pkey PRIMARY KEY (account_id, test_mode, session_id, line_index),
  constraint inline_lines_price FOREIGN KEY (account_id, test_mode, price_id) REFERENCES prices(account_id, test_mode, price_id) DEFERRABLE INITIALLY DEFERRED
);
alter table inline_lines enable row level security;
alter table inline_lines force row level security;
create policy abandoned_line_read on inline_lines for select to eligo_finder
  using (true);
create policy account_scope on inline_lines for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX inline_lines_by_price ON catalog.inline_lines USING btree (account_id, test_mode, price_id);
grant delete, insert, select on inline_lines to eligo_catalog;
grant select on inline_lines to eligo_finder;

create table migrations (
  id text collate "C" not null,
  checksum text not null,
  applied_at timestamp(3) with time zone default now() not null,
  constraint migrations_pkey PRIMARY KEY (id)
);
grant select on migrations to eligo_catalog;

create table operator_actions (
  number bigint not null,
  at timestamp(3) with time zone default clock_timestamp() not null,
  operator_id text collate "C",
  operator_name text not null,
  login_id text collate "C",
  action text collate "C" not null,
  account_id text collate "C",
  test_mode boolean,
  subject_id text collate "C",
  request_id text collate "C" not null,
  refused boolean default false not null,
  proof_id text collate "C",
  constraint operator_actions_pkey PRIMARY KEY (number),
  constraint logged_in_by_name CHECK (((operator_id IS NULL) = (login_id IS NULL))),
  constraint operator_actions_action_check CHECK (((length(action) >= 1) AND (length(action) <= 200))),
  constraint operator_actions_operator_name_check CHECK (((length(operator_name) >= 1) AND (length(operator_name) <= 200))),
  constraint operator_actions_request_id_check CHECK (((length(request_id) >= 1) AND (length(request_id) <= 128))),
  constraint proof_id_form CHECK ((proof_id ~ '^[A-Za-z0-9_-]{22}$'::text))
);
CREATE INDEX operator_actions_by_account ON catalog.operator_actions USING btree (account_id, number) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_by_account_and_operator ON catalog.operator_actions USING btree (account_id, operator_name, number) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_by_operator ON catalog.operator_actions USING btree (operator_name, number);
CREATE UNIQUE INDEX operator_proof_once ON catalog.operator_actions USING btree (proof_id) WHERE (proof_id IS NOT NULL);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON catalog.operator_actions FOR EACH ROW EXECUTE FUNCTION refuse_changed_history();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON catalog.operator_actions FOR EACH STATEMENT EXECUTE FUNCTION refuse_changed_history();
grant insert (operator_id), insert (operator_name), insert (login_id), insert (action), insert (account_id), insert (test_mode), insert (subject_id), insert (request_id), insert (refused), insert (proof_id) on operator_actions to eligo_catalog;
grant select on operator_actions to eligo_catalog;

create table outbox (
  event_id text collate "C" not null,
  aggregate_id text collate "C" not null,
  aggregate_seq bigint not null,
  type text collate "C" not null,
  account_id text collate "C" not null,
  test_mode boolean not null,
  payload bytea,
  created_at timestamp(3) with time zone default now() not null,
  published_at timestamp(3) with time zone,
  stream_seq bigint,
  constraint outbox_pkey PRIMARY KEY (event_id),
  constraint outbox_aggregate UNIQUE (aggregate_id, aggregate_seq),
  constraint outbox_aggregate_seq_check CHECK ((aggregate_seq > 0)),
  constraint outbox_stream_seq_check CHECK ((stream_seq > 0)),
  constraint published_has_place CHECK (((published_at IS NULL) = (stream_seq IS NULL)))
);
CREATE TRIGGER follow_published_mark AFTER UPDATE OF published_at ON catalog.outbox FOR EACH ROW WHEN ((new.published_at IS DISTINCT FROM old.published_at)) EXECUTE FUNCTION follow_published_mark();
CREATE TRIGGER queue_event AFTER INSERT ON catalog.outbox REFERENCING NEW TABLE AS appended FOR EACH STATEMENT EXECUTE FUNCTION queue_event();
grant delete, select on outbox to eligo_finder;
grant insert, select on outbox to eligo_catalog;
grant update (payload) on outbox to eligo_finder;
grant update (published_at), update (stream_seq) on outbox to eligo_catalog;

create table outbox_positions (
  minute timestamp(0) with time zone not null,
  first_seq bigint,
  last_seq bigint not null,
  oldest_event_id text collate "C" not null,
  oldest_new_event_id text collate "C",
  ended_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint outbox_positions_pkey PRIMARY KEY (minute),
  constraint outbox_positions_first_seq_check CHECK ((first_seq > 0)),
  constraint outbox_positions_last_seq_check CHECK ((last_seq > 0)),
  constraint places_in_order CHECK ((first_seq <= last_seq))
);
CREATE TRIGGER places_ascend BEFORE INSERT ON catalog.outbox_positions FOR EACH ROW EXECUTE FUNCTION guard_places();
grant delete, insert, select, update on outbox_positions to eligo_catalog;
grant delete, select on outbox_positions to eligo_finder;

create table outbox_pruned (
  only_row boolean default true not null,
  aggregate_seq bigint not null,
  event_id text collate "C" not null,
  constraint outbox_pruned_pkey PRIMARY KEY (only_row),
  constraint outbox_pruned_only_row_check CHECK (only_row)
);
grant select on outbox_pruned to eligo_catalog;
grant select, update on outbox_pruned to eligo_finder;

create table outbox_queue (
  event_id text collate "C" not null,
  queued_again_at timestamp(3) with time zone,
  constraint outbox_queue_pkey PRIMARY KEY (event_id)
);
grant delete, insert, select on outbox_queue to eligo_catalog;
grant select on outbox_queue to eligo_finder;

create table outbox_repairs (
  found_at timestamp(3) with time zone default clock_timestamp() not null,
  stream text collate "C" not null,
  how text not null,
  kept_seq bigint not null,
  consumers integer not null,
  events bigint not null,
  after_event_id text collate "C",
  last_event_id text collate "C",
  began_after_event_id text collate "C",
  finished_at timestamp(3) with time zone,
  constraint outbox_repairs_pkey PRIMARY KEY (found_at, stream)
);
grant insert, select on outbox_repairs to eligo_catalog;
grant select on outbox_repairs to eligo_finder;
grant update (events), update (after_event_id), update (finished_at) on outbox_repairs to eligo_catalog;

create table outbox_stream (
  stream text collate "C" not null,
  created text not null,
  constraint outbox_stream_pkey PRIMARY KEY (stream)
);
grant delete, insert, select, update on outbox_stream to eligo_catalog;

create table price_metadata (
  account_id text collate "C" not null,
  test_mode boolean not null,
  key text collate "C" not null,
  value text collate "C" not null,
  listing text collate "C" not null,
  price_id text collate "C" not null,
  constraint price_metadata_pkey PRIMARY KEY (account_id, test_mode, key, value, listing, price_id)
);
alter table price_metadata enable row level security;
alter table price_metadata force row level security;
create policy account_scope on price_metadata for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant delete, insert, select, update on price_metadata to eligo_catalog;

create table prices (
  account_id text collate "C" not null,
  test_mode boolean not null,
  price_id text collate "C" not null,
  product_id text collate "C" not null,
  product_active boolean not null,
  product_eligibility_key text collate "C" not null,
  description text,
  unit_amount_cents bigint not null,
  recurring_interval text,
  recurring_interval_count integer,
  trial_period_days integer,
  active boolean default true not null,
  pending boolean default false not null,
  inline boolean default false not null,
  lookup_key text collate "C",
  hsa_fsa_eligibility text collate "C",
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone not null,
  updated_at timestamp(3) with time zone not null,
  listing text collate "C" generated always as (
CASE
    WHEN (pending OR (NOT product_active)) THEN 'hidden'::text
    WHEN active THEN 'active'::text
    ELSE 'archived'::text
END) stored not null,
  constraint prices_pkey PRIMARY KEY (account_id, test_mode, price_id),
  constraint prices_of_product FOREIGN KEY (account_id, test_mode, product_id) REFERENCES products(account_id, test_mode, product_id),
  constraint prices_amount_range CHECK (((unit_amount_cents >= 0) AND (unit_amount_cents <= '9007199254740991'::bigint))),
  constraint prices_class CHECK ((hsa_fsa_eligibility = ANY (ARRAY['not_eligible'::text, 'auto_substantiation'::text, 'private_label'::text, 'letter_of_medical_necessity'::text, 'prescription'::text, 'vision'::text, 'service'::text]))),
  constraint prices_interval CHECK ((recurring_interval = ANY (ARRAY['day'::text, 'week'::text, 'month'::text, 'year'::text]))),
  constraint prices_interval_count_positive CHECK ((recurring_interval_count >= 1)),
  constraint prices_lookup_key_length CHECK (((char_length(lookup_key) >= 1) AND (char_length(lookup_key) <= 500))),
  constraint prices_metadata_is_object CHECK ((jsonb_typeof(metadata) = 'object'::text)),
  constraint prices_pending_is_inactive CHECK ((NOT (pending AND active))),
  constraint prices_recurring_whole CHECK ((((recurring_interval IS NULL) = (recurring_interval_count IS NULL)) AND ((recurring_interval IS NOT NULL) OR (trial_period_days IS NULL)))),
  constraint prices_trial_not_negative CHECK ((trial_period_days >= 0))
);
alter table prices enable row level security;
alter table prices force row level security;
create policy account_scope on prices for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
create policy sibling_price_read on prices for select to eligo_finder
  using (true);
CREATE INDEX prices_active_of_product ON catalog.prices USING btree (account_id, test_mode, product_id, inline, price_id) WHERE active;
CREATE INDEX prices_by_product ON catalog.prices USING btree (account_id, test_mode, product_id, listing, price_id);
CREATE INDEX prices_listed ON catalog.prices USING btree (account_id, test_mode, listing, price_id);
CREATE UNIQUE INDEX prices_lookup_key ON catalog.prices USING btree (account_id, test_mode, lookup_key) WHERE (lookup_key IS NOT NULL);
CREATE INDEX prices_of_product ON catalog.prices USING btree (account_id, test_mode, product_id, price_id);
CREATE INDEX prices_own_by_product ON catalog.prices USING btree (account_id, test_mode, product_id, price_id) WHERE ((listing = 'active'::text) AND (NOT inline));
CREATE INDEX prices_pending ON catalog.prices USING btree (created_at) WHERE (pending AND inline);
CREATE INDEX prices_tokens ON catalog.prices USING gin (price_tokens(account_id, test_mode, listing, product_id, metadata)) WITH (fastupdate=off) WHERE (metadata <> '{}'::jsonb);
CREATE TRIGGER prices_deleted_pending BEFORE DELETE ON catalog.prices FOR EACH ROW WHEN ((NOT old.pending)) EXECUTE FUNCTION refuse_unless_pending();
CREATE TRIGGER prices_follow_product BEFORE UPDATE ON catalog.prices FOR EACH ROW WHEN (((old.product_active IS DISTINCT FROM new.product_active) OR (old.product_eligibility_key IS DISTINCT FROM new.product_eligibility_key))) EXECUTE FUNCTION price_follows_product();
CREATE TRIGGER prices_immutable BEFORE UPDATE ON catalog.prices FOR EACH ROW WHEN ((((((((old.unit_amount_cents IS DISTINCT FROM new.unit_amount_cents) OR (old.recurring_interval IS DISTINCT FROM new.recurring_interval)) OR (old.recurring_interval_count IS DISTINCT FROM new.recurring_interval_count)) OR (old.trial_period_days IS DISTINCT FROM new.trial_period_days)) OR (old.product_id IS DISTINCT FROM new.product_id)) OR (old.created_at IS DISTINCT FROM new.created_at)) OR (old.inline IS DISTINCT FROM new.inline))) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER prices_metadata_added AFTER INSERT ON catalog.prices REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION price_metadata_added();
CREATE TRIGGER prices_metadata_changed AFTER UPDATE ON catalog.prices REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION price_metadata_changed();
CREATE TRIGGER prices_metadata_removed AFTER DELETE ON catalog.prices REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION price_metadata_removed();
CREATE TRIGGER prices_take_state BEFORE INSERT ON catalog.prices FOR EACH ROW EXECUTE FUNCTION price_takes_state();
grant delete, insert, select, update on prices to eligo_catalog;
grant select on prices to eligo_finder;

create unlogged table product_code_changes (
  is_new boolean not null,
  is_gone boolean not null,
  gtin text collate "C" not null,
  effective_from timestamp(3) with time zone not null,
  effective_to timestamp(3) with time zone,
  hsa_fsa_eligibility text collate "C",
  label text
);
grant delete, insert, select, truncate, update on product_code_changes to eligo_catalog;

create unlogged table product_code_staging (
  line integer not null,
  gtin text collate "C" not null,
  effective_from timestamp(3) with time zone not null,
  effective_to timestamp(3) with time zone not null,
  hsa_fsa_eligibility text collate "C" not null,
  label text
);
grant delete, insert, select, truncate, update on product_code_staging to eligo_catalog;

create table product_code_versions (
  version integer not null,
  source text not null,
  effective_at timestamp(3) with time zone not null,
  imported_at timestamp(3) with time zone default now() not null,
  rows_total integer not null,
  rows_added integer not null,
  rows_changed integer not null,
  rows_removed integer not null,
  constraint product_code_versions_pkey PRIMARY KEY (version),
  constraint product_code_versions_not_backdated CHECK ((effective_at >= imported_at)),
  constraint product_code_versions_positive CHECK ((version >= 1))
);
CREATE INDEX product_code_versions_by_effect ON catalog.product_code_versions USING btree (effective_at, version);
grant insert, select on product_code_versions to eligo_catalog;

create table product_codes (
  gtin text collate "C" not null,
  effective_from timestamp(3) with time zone default '-infinity'::timestamp with time zone not null,
  version_from integer not null,
  version_to integer,
  effective_to timestamp(3) with time zone default 'infinity'::timestamp with time zone not null,
  hsa_fsa_eligibility text collate "C" not null,
  label text,
  constraint product_codes_pkey PRIMARY KEY (gtin, effective_from, version_from),
  constraint product_codes_class CHECK ((hsa_fsa_eligibility = ANY (ARRAY['not_eligible'::text, 'auto_substantiation'::text, 'private_label'::text, 'letter_of_medical_necessity'::text, 'prescription'::text, 'vision'::text, 'service'::text]))),
  constraint product_codes_effect CHECK ((effective_to > effective_from)),
  constraint product_codes_gtin CHECK ((gtin ~ '^[0-9]{14}$'::text)),
  constraint product_codes_versions CHECK ((version_to > version_from))
);
CREATE UNIQUE INDEX product_codes_current ON catalog.product_codes USING btree (gtin, effective_from) WHERE (version_to IS NULL);
CREATE TRIGGER product_codes_immutable BEFORE UPDATE ON catalog.product_codes FOR EACH ROW WHEN (((old.version_to IS NOT NULL) OR ((((((old.gtin IS DISTINCT FROM new.gtin) OR (old.effective_from IS DISTINCT FROM new.effective_from)) OR (old.version_from IS DISTINCT FROM new.version_from)) OR (old.effective_to IS DISTINCT FROM new.effective_to)) OR (old.hsa_fsa_eligibility IS DISTINCT FROM new.hsa_fsa_eligibility)) OR (old.label IS DISTINCT FROM new.label)))) EXECUTE FUNCTION refuse_change();
grant insert, select, update on product_codes to eligo_catalog;

create table product_metadata (
  account_id text collate "C" not null,
  test_mode boolean not null,
  key text collate "C" not null,
  value text collate "C" not null,
  product_id text collate "C" not null,
  constraint product_metadata_pkey PRIMARY KEY (account_id, test_mode, key, value, product_id)
);
alter table product_metadata enable row level security;
alter table product_metadata force row level security;
create policy account_scope on product_metadata for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant delete, insert, select, update on product_metadata to eligo_catalog;

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
  image_urls text[] default '{}'::text[] not null,
  categories text[] default '{}'::text[] not null,
  component_ids text[] default '{}'::text[] not null,
  hsa_fsa_eligibility text collate "C",
  visit_type text,
  active boolean default true not null,
  pending boolean default false not null,
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone not null,
  updated_at timestamp(3) with time zone not null,
  eligibility_key text collate "C" generated always as (COALESCE(hsa_fsa_eligibility, ''::text)) stored not null,
  constraint products_pkey PRIMARY KEY (account_id, test_mode, product_id),
  constraint products_class CHECK ((hsa_fsa_eligibility = ANY (ARRAY['not_eligible'::text, 'auto_substantiation'::text, 'private_label'::text, 'letter_of_medical_necessity'::text, 'prescription'::text, 'vision'::text, 'service'::text]))),
  constraint products_client_reference_length CHECK ((char_length(client_reference_id) <= 500)),
  constraint products_metadata_is_object CHECK ((jsonb_typeof(metadata) = 'object'::text)),
  constraint products_pending_is_inactive CHECK ((NOT (pending AND active)))
);
alter table products enable row level security;
alter table products force row level security;
create policy account_scope on products for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
create policy pair_finder_read on products for select to eligo_finder
  using (true);
CREATE INDEX products_by_active ON catalog.products USING btree (account_id, test_mode, pending, active, product_id);
CREATE INDEX products_by_client_reference ON catalog.products USING btree (account_id, test_mode, client_reference_id, product_id) WHERE (client_reference_id IS NOT NULL);
CREATE INDEX products_listed ON catalog.products USING btree (account_id, test_mode, pending, product_id);
CREATE INDEX products_tokens ON catalog.products USING gin (product_tokens(account_id, test_mode, pending, active, metadata)) WITH (fastupdate=off) WHERE (metadata <> '{}'::jsonb);
CREATE TRIGGER products_deleted_pending BEFORE DELETE ON catalog.products FOR EACH ROW WHEN ((NOT old.pending)) EXECUTE FUNCTION refuse_unless_pending();
CREATE TRIGGER products_metadata_added AFTER INSERT ON catalog.products REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION product_metadata_added();
CREATE TRIGGER products_metadata_changed AFTER UPDATE ON catalog.products REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION product_metadata_changed();
CREATE TRIGGER products_metadata_removed AFTER DELETE ON catalog.products REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION product_metadata_removed();
CREATE TRIGGER products_state_changed AFTER UPDATE ON catalog.products FOR EACH ROW WHEN (((old.active IS DISTINCT FROM new.active) OR (old.eligibility_key IS DISTINCT FROM new.eligibility_key))) EXECUTE FUNCTION product_state_changed();
grant delete, insert, select, update on products to eligo_catalog;
grant select on products to eligo_finder;

create table promo_codes (
  account_id text collate "C" not null,
  test_mode boolean not null,
  promo_code_id text collate "C" not null,
  code text not null,
  code_key text collate "C" not null,
  coupon_id text collate "C" not null,
  customer_id text collate "C",
  max_redemptions integer,
  times_redeemed integer default 0 not null,
  active boolean default true not null,
  expires_at timestamp(3) with time zone,
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone not null,
  constraint promo_codes_pkey PRIMARY KEY (account_id, test_mode, promo_code_id),
  constraint promo_codes_coupon FOREIGN KEY (account_id, test_mode, coupon_id) REFERENCES coupons(account_id, test_mode, coupon_id),
  constraint promo_codes_code_length CHECK ((((char_length(code) >= 1) AND (char_length(code) <= 500)) AND ((char_length(code_key) >= 1) AND (char_length(code_key) <= 600)))),
  constraint promo_codes_max_positive CHECK ((max_redemptions >= 1)),
  constraint promo_codes_metadata_is_object CHECK ((jsonb_typeof(metadata) = 'object'::text)),
  constraint promo_codes_redeemed_within_limit CHECK (((times_redeemed >= 0) AND (times_redeemed <= COALESCE(max_redemptions, 2147483647))))
);
alter table promo_codes enable row level security;
alter table promo_codes force row level security;
create policy account_scope on promo_codes for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE UNIQUE INDEX promo_codes_active_code ON catalog.promo_codes USING btree (account_id, test_mode, code_key) WHERE active;
CREATE INDEX promo_codes_by_active ON catalog.promo_codes USING btree (account_id, test_mode, active, promo_code_id);
CREATE INDEX promo_codes_by_code ON catalog.promo_codes USING btree (account_id, test_mode, code_key, promo_code_id);
CREATE INDEX promo_codes_by_coupon_state ON catalog.promo_codes USING btree (account_id, test_mode, coupon_id, active, promo_code_id);
CREATE INDEX promo_codes_by_customer_coupon ON catalog.promo_codes USING btree (account_id, test_mode, customer_id, coupon_id, active, promo_code_id) WHERE (customer_id IS NOT NULL);
CREATE INDEX promo_codes_by_customer_state ON catalog.promo_codes USING btree (account_id, test_mode, customer_id, active, promo_code_id) WHERE (customer_id IS NOT NULL);
CREATE TRIGGER promo_codes_immutable BEFORE UPDATE ON catalog.promo_codes FOR EACH ROW WHEN ((((((((old.code IS DISTINCT FROM new.code) OR (old.code_key IS DISTINCT FROM new.code_key)) OR (old.coupon_id IS DISTINCT FROM new.coupon_id)) OR (old.customer_id IS DISTINCT FROM new.customer_id)) OR (old.max_redemptions IS DISTINCT FROM new.max_redemptions)) OR (old.expires_at IS DISTINCT FROM new.expires_at)) OR (old.created_at IS DISTINCT FROM new.created_at))) EXECUTE FUNCTION refuse_change();
grant insert, select, update on promo_codes to eligo_catalog;

create table propagating_products (
  account_id text collate "C" not null,
  test_mode boolean not null,
  product_id text collate "C" not null,
  from_price_id text collate "C" default '~'::text not null,
  changed_by xid8 default pg_current_xact_id() not null,
  tries integer default 0 not null,
  next_try_at timestamp(3) with time zone default date_trunc('milliseconds'::text, clock_timestamp()) not null,
  created_at timestamp with time zone default now() not null,
  constraint propagating_products_pkey PRIMARY KEY (account_id, test_mode, product_id),
  constraint propagating_products_product FOREIGN KEY (account_id, test_mode, product_id) REFERENCES products(account_id, test_mode, product_id) ON DELETE CASCADE,
  constraint propagating_products_tries CHECK ((tries >= 0))
);
alter table propagating_products enable row level security;
alter table propagating_products force row level security;
create policy account_scope on propagating_products for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
create policy propagating_product_read on propagating_products for select to eligo_finder
  using (true);
CREATE INDEX propagating_products_by_age ON catalog.propagating_products USING btree (created_at);
CREATE INDEX propagating_products_due ON catalog.propagating_products USING btree (next_try_at);
CREATE INDEX propagating_products_of_account ON catalog.propagating_products USING btree (account_id, test_mode, next_try_at);
CREATE TRIGGER propagating_products_ended BEFORE DELETE ON catalog.propagating_products FOR EACH ROW EXECUTE FUNCTION propagation_is_complete();
CREATE TRIGGER propagating_products_moved BEFORE UPDATE OF from_price_id ON catalog.propagating_products FOR EACH ROW WHEN ((new.from_price_id < old.from_price_id)) EXECUTE FUNCTION propagation_is_complete();
grant delete, insert, select, update on propagating_products to eligo_catalog;
grant select on propagating_products to eligo_finder;

create table redemptions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  state text not null,
  coupon_ids text[] not null,
  promo_code_ids text[] not null,
  created_at timestamp(3) with time zone default now() not null,
  settled_at timestamp(3) with time zone,
  constraint redemptions_pkey PRIMARY KEY (account_id, test_mode, session_id),
  constraint redemptions_settled CHECK (((state = 'reserved'::text) = (settled_at IS NULL))),
  constraint redemptions_state CHECK ((state = ANY (ARRAY['reserved'::text, 'final'::text, 'released'::text])))
);
alter table redemptions enable row level security;
alter table redemptions force row level security;
create policy account_scope on redemptions for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER redemptions_immutable BEFORE UPDATE ON catalog.redemptions FOR EACH ROW WHEN ((((old.coupon_ids IS DISTINCT FROM new.coupon_ids) OR (old.promo_code_ids IS DISTINCT FROM new.promo_code_ids)) OR (old.created_at IS DISTINCT FROM new.created_at))) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER redemptions_moves BEFORE UPDATE ON catalog.redemptions FOR EACH ROW WHEN (((old.state <> 'reserved'::text) AND (old.state <> new.state))) EXECUTE FUNCTION refuse_redemption_move();
grant insert, select, update on redemptions to eligo_catalog;

create table shipping_rates (
  account_id text collate "C" not null,
  test_mode boolean not null,
  shipping_rate_id text collate "C" not null,
  active boolean default true not null,
  display_name text not null,
  amount_cents bigint not null,
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone not null,
  constraint shipping_rates_pkey PRIMARY KEY (account_id, test_mode, shipping_rate_id),
  constraint shipping_rates_amount_range CHECK (((amount_cents >= 0) AND (amount_cents <= '9007199254740991'::bigint))),
  constraint shipping_rates_metadata_is_object CHECK ((jsonb_typeof(metadata) = 'object'::text))
);
alter table shipping_rates enable row level security;
alter table shipping_rates force row level security;
create policy account_scope on shipping_rates for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX shipping_rates_by_active ON catalog.shipping_rates USING btree (account_id, test_mode, active, shipping_rate_id);
CREATE TRIGGER shipping_rates_immutable BEFORE UPDATE ON catalog.shipping_rates FOR EACH ROW WHEN ((((old.display_name IS DISTINCT FROM new.display_name) OR (old.amount_cents IS DISTINCT FROM new.amount_cents)) OR (old.created_at IS DISTINCT FROM new.created_at))) EXECUTE FUNCTION refuse_change();
grant insert, select, update on shipping_rates to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.find_abandoned_coupons(made_before timestamp with time zone, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, session_id text, discount_index integer, coupon_id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
    select i.account_id, i.test_mode, i.session_id, i.discount_index, i.coupon_id
    from (select c.account_id, c.test_mode, c.coupon_id from coupons c
          where c.pending and c.inline and c.created_at < made_before order by c.created_at limit most) waiting
    join inline_coupons i on i.account_id = waiting.account_id and i.test_mode = waiting.test_mode and i.coupon_id = waiting.coupon_id
  $function$;
alter function find_abandoned_coupons(made_before timestamp with time zone, most integer) owner to eligo_finder;
grant execute on function find_abandoned_coupons(made_before timestamp with time zone, most integer) to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.find_abandoned_lines(made_before timestamp with time zone, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, session_id text, line_index integer, price_id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
    select l.account_id, l.test_mode, l.session_id, l.line_index, l.price_id
    from (select p.account_id, p.test_mode, p.price_id from prices p
          where p.pending and p.inline and p.created_at < made_before order by p.created_at limit most) waiting
    join inline_lines l on l.account_id = waiting.account_id and l.test_mode = waiting.test_mode and l.price_id = waiting.price_id
  $function$;
alter function find_abandoned_lines(made_before timestamp with time zone, most integer) owner to eligo_finder;
grant execute on function find_abandoned_lines(made_before timestamp with time zone, most integer) to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.find_prices_by_pairs(in_account text, in_mode boolean, wanted_listing text, pairs jsonb, direction text, bound text, most bigint, skipped bigint)
 RETURNS SETOF text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'catalog', 'pg_temp'
 SET max_parallel_workers_per_gather TO '0'
 SET enable_seqscan TO 'off'
 SET enable_indexscan TO 'off'
AS $function$
    with found as materialized (
      select p.account_id, p.test_mode, p.listing, p.product_id, p.price_id from prices p
      where price_tokens(p.account_id, p.test_mode, p.listing, p.product_id, p.metadata) @> metadata_tokens($1, $2, $3, $4)
        and p.metadata @> $4 and p.metadata <> '{}')
    select f.price_id from found f
    where f.account_id = $1 and f.test_mode = $2 and f.listing = $3 and $1 = current_setting('eligo.account_id', true)
      and $2 = nullif(current_setting('eligo.test_mode', true), '')::boolean
      and (not exists (select from propagating_products g where g.account_id = $1 and g.test_mode = $2 offset 0)
        or exists (select from products r where r.account_id = f.account_id and r.test_mode = f.test_mode and r.product_id = f.product_id
          and r.active offset 0))
      and case $5 when 'after' then f.price_id < $6 when 'before' then f.price_id > $6 else true end
    order by case when $5 = 'before' then f.price_id end, f.price_id desc
    limit $7 offset $8
  $function$;
alter function find_prices_by_pairs(in_account text, in_mode boolean, wanted_listing text, pairs jsonb, direction text, bound text, most bigint, skipped bigint) owner to eligo_finder;
grant execute on function find_prices_by_pairs(in_account text, in_mode boolean, wanted_listing text, pairs jsonb, direction text, bound text, most bigint, skipped bigint) to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.find_product_prices_by_pairs(in_account text, in_mode boolean, wanted_listing text, of_product text, pairs jsonb, direction text, bound text, most bigint, skipped bigint)
 RETURNS SETOF text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'catalog', 'pg_temp'
 SET max_parallel_workers_per_gather TO '0'
 SET enable_seqscan TO 'off'
 SET enable_indexscan TO 'off'
AS $function$
    with found as materialized (
      select p.account_id, p.test_mode, p.listing, p.product_id, p.price_id from prices p
      where price_tokens(p.account_id, p.test_mode, p.listing, p.product_id, p.metadata) @> price_tokens($1, $2, $3, $4, $5)
        and p.metadata @> $5 and p.metadata <> '{}')
    select f.price_id from found f
    where f.account_id = $1 and f.test_mode = $2 and f.listing = $3 and f.product_id = $4
      and $1 = current_setting('eligo.account_id', true) and $2 = nullif(current_setting('eligo.test_mode', true), '')::boolean
      and exists (select from products r where r.account_id = $1 and r.test_mode = $2 and r.product_id = $4 and r.active offset 0)
      and case $6 when 'after' then f.price_id < $7 when 'before' then f.price_id > $7 else true end
    order by case when $6 = 'before' then f.price_id end, f.price_id desc
    limit $8 offset $9
  $function$;
alter function find_product_prices_by_pairs(in_account text, in_mode boolean, wanted_listing text, of_product text, pairs jsonb, direction text, bound text, most bigint, skipped bigint) owner to eligo_finder;
grant execute on function find_product_prices_by_pairs(in_account text, in_mode boolean, wanted_listing text, of_product text, pairs jsonb, direction text, bound text, most bigint, skipped bigint) to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.find_products_by_pairs(in_account text, in_mode boolean, wanted_active boolean, pairs jsonb, direction text, bound text, most bigint, skipped bigint)
 RETURNS SETOF text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'catalog', 'pg_temp'
 SET max_parallel_workers_per_gather TO '0'
 SET enable_seqscan TO 'off'
 SET enable_indexscan TO 'off'
AS $function$
    with found as materialized (
      select p.account_id, p.test_mode, p.active, p.pending, p.product_id from products p
      where (product_tokens(p.account_id, p.test_mode, p.pending, p.active, p.metadata)
            @> product_tokens($1, $2, false, coalesce($3, true), $4)
          or product_tokens(p.account_id, p.test_mode, p.pending, p.active, p.metadata)
            @> product_tokens($1, $2, false, coalesce($3, false), $4))
        and p.metadata @> $4 and p.metadata <> '{}')
    select f.product_id from found f
    where f.account_id = $1 and f.test_mode = $2 and not f.pending and ($3::boolean is null or f.active = $3)
      and $1 = current_setting('eligo.account_id', true) and $2 = nullif(current_setting('eligo.test_mode', true), '')::boolean
      and case $5 when 'after' then f.product_id < $6 when 'before' then f.product_id > $6 else true end
    order by case when $5 = 'before' then f.product_id end, f.product_id desc
    limit $7 offset $8
  $function$;
alter function find_products_by_pairs(in_account text, in_mode boolean, wanted_active boolean, pairs jsonb, direction text, bound text, most bigint, skipped bigint) owner to eligo_finder;
grant execute on function find_products_by_pairs(in_account text, in_mode boolean, wanted_active boolean, pairs jsonb, direction text, bound text, most bigint, skipped bigint) to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.find_sibling_price(siblings text[], in_test_mode boolean, wanted text)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
    select account_id from prices
    where account_id = any(siblings) and test_mode = in_test_mode and price_id = wanted collate "C" limit 1
  $function$;
alter function find_sibling_price(siblings text[], in_test_mode boolean, wanted text) owner to eligo_finder;
grant execute on function find_sibling_price(siblings text[], in_test_mode boolean, wanted text) to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.follow_published_mark()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  begin
    if new.published_at is null then
      insert into "catalog".outbox_queue (event_id) values (new.event_id) on conflict do nothing;
      return null;
    end if;
    delete from "catalog".outbox_queue where event_id = new.event_id;
    insert into "catalog".outbox_positions as p (minute, last_seq, oldest_event_id, oldest_new_event_id)
      values (date_trunc('minute', clock_timestamp()), new.stream_seq, new.event_id, new.event_id)
      on conflict (minute) do update set last_seq = greatest(p.last_seq, excluded.last_seq), ended_at = excluded.ended_at,
        oldest_event_id = least(p.oldest_event_id, excluded.oldest_event_id),
        oldest_new_event_id = least(p.oldest_new_event_id, excluded.oldest_new_event_id);
    return null;
  end
  $function$;
alter function follow_published_mark() owner to eligo_owner;
grant execute on function follow_published_mark() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.guard_places()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  declare
    taken bigint;
  begin
    select p.last_seq into taken from "catalog".outbox_positions p order by p.minute desc limit 1;
    if new.first_seq <= taken then
      raise exception 'place % of the stream is taken, up to %', new.first_seq, taken
        using errcode = 'unique_violation', constraint = 'places_ascend';
    end if;
    return new;
  end
  $function$;
alter function guard_places() owner to eligo_owner;
grant execute on function guard_places() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.metadata_tokens(account_id text, test_mode boolean, listing text, metadata jsonb)
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (SELECT COALESCE(array_agg(hashtextextended(((((((metadata_tokens.account_id || CASE WHEN metadata_tokens.test_mode THEN ' test '::text ELSE ' live '::text END) || metadata_tokens.listing) || ' '::text) || jsonb_each_text.key) || '='::text) || jsonb_each_text.value), (0)::bigint)), '{}'::bigint[]) AS "coalesce" FROM jsonb_each_text(metadata_tokens.metadata) jsonb_each_text(key, value));
alter function metadata_tokens(account_id text, test_mode boolean, listing text, metadata jsonb) owner to eligo_owner;
grant execute on function metadata_tokens(account_id text, test_mode boolean, listing text, metadata jsonb) to eligo_catalog;
grant execute on function metadata_tokens(account_id text, test_mode boolean, listing text, metadata jsonb) to eligo_finder;

CREATE OR REPLACE FUNCTION catalog.next_propagation()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
    select g.next_try_at from propagating_products g order by g.next_try_at limit 1
  $function$;
alter function next_propagation() owner to eligo_finder;
grant execute on function next_propagation() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.price_follows_product()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
begin
  perform from products r
  where r.account_id = new.account_id and r.test_mode = new.test_mode and r.product_id = new.product_id
    and r.active = new.product_active and r.eligibility_key = new.product_eligibility_key for share;
  if not found then
    raise exception 'the price % does not have the state of its product', new.price_id
      using errcode = 'check_violation', constraint = 'prices_follow_product';
  end if;
  return new;
end $function$;
alter function price_follows_product() owner to eligo_owner;
grant execute on function price_follows_product() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.price_metadata_added()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
begin
  insert into price_metadata (account_id, test_mode, key, value, listing, price_id)
  select p.account_id, p.test_mode, pair.key, pair.value, p.listing, p.price_id
  from added p cross join lateral jsonb_each_text(p.metadata) pair
  where p.metadata <> '{}';
  return null;
end $function$;
alter function price_metadata_added() owner to eligo_owner;
grant execute on function price_metadata_added() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.price_metadata_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
declare gone record;
begin
  for gone in
    select b.account_id, b.test_mode, pair.key, pair.value, b.listing, b.price_id
    from before b cross join lateral jsonb_each_text(b.metadata) pair where b.metadata <> '{}'
    except
    select a.account_id, a.test_mode, pair.key, pair.value, a.listing, a.price_id
    from after a cross join lateral jsonb_each_text(a.metadata) pair where a.metadata <> '{}'
  loop
    delete from price_metadata m
    where m.account_id = gone.account_id and m.test_mode = gone.test_mode and m.key = gone.key and m.value = gone.value
      and m.listing = gone.listing and m.price_id = gone.price_id;
  end loop;
  insert into price_metadata (account_id, test_mode, key, value, listing, price_id)
  select a.account_id, a.test_mode, pair.key, pair.value, a.listing, a.price_id
  from after a cross join lateral jsonb_each_text(a.metadata) pair where a.metadata <> '{}'
  except
  select b.account_id, b.test_mode, pair.key, pair.value, b.listing, b.price_id
  from before b cross join lateral jsonb_each_text(b.metadata) pair where b.metadata <> '{}';
  return null;
end $function$;
alter function price_metadata_changed() owner to eligo_owner;
grant execute on function price_metadata_changed() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.price_metadata_removed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
begin
  delete from price_metadata m using removed r cross join lateral jsonb_each_text(r.metadata) pair
  where m.account_id = r.account_id and m.test_mode = r.test_mode and m.key = pair.key and m.value = pair.value
    and m.listing = r.listing and m.price_id = r.price_id;
  return null;
end $function$;
alter function price_metadata_removed() owner to eligo_owner;
grant execute on function price_metadata_removed() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.price_takes_state()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
declare product record;
begin
  select r.active, r.eligibility_key into product from products r
  where r.account_id = new.account_id and r.test_mode = new.test_mode and r.product_id = new.product_id for share;
  if found then
    new.product_active := product.active;
    new.product_eligibility_key := product.eligibility_key;
  end if;
  return new;
end $function$;
alter function price_takes_state() owner to eligo_owner;
grant execute on function price_takes_state() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.price_tokens(account_id text, test_mode boolean, listing text, product_id text, metadata jsonb)
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN array_append(metadata_tokens(account_id, test_mode, listing, metadata), hashtextextended(((((account_id || CASE WHEN test_mode THEN ' test '::text ELSE ' live '::text END) || listing) || ' of '::text) || product_id), (0)::bigint));
alter function price_tokens(account_id text, test_mode boolean, listing text, product_id text, metadata jsonb) owner to eligo_owner;
grant execute on function price_tokens(account_id text, test_mode boolean, listing text, product_id text, metadata jsonb) to eligo_catalog;
grant execute on function price_tokens(account_id text, test_mode boolean, listing text, product_id text, metadata jsonb) to eligo_finder;

CREATE OR REPLACE FUNCTION catalog.product_metadata_added()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
begin
  insert into product_metadata (account_id, test_mode, key, value, product_id)
  select p.account_id, p.test_mode, pair.key, pair.value, p.product_id
  from added p cross join lateral jsonb_each_text(p.metadata) pair
  where p.metadata <> '{}';
  return null;
end $function$;
alter function product_metadata_added() owner to eligo_owner;
grant execute on function product_metadata_added() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.product_metadata_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
declare gone record;
begin
  for gone in
    select b.account_id, b.test_mode, pair.key, pair.value, b.product_id
    from before b cross join lateral jsonb_each_text(b.metadata) pair where b.metadata <> '{}'
    except
    select a.account_id, a.test_mode, pair.key, pair.value, a.product_id
    from after a cross join lateral jsonb_each_text(a.metadata) pair where a.metadata <> '{}'
  loop
    delete from product_metadata m
    where m.account_id = gone.account_id and m.test_mode = gone.test_mode and m.key = gone.key and m.value = gone.value
      and m.product_id = gone.product_id;
  end loop;
  insert into product_metadata (account_id, test_mode, key, value, product_id)
  select a.account_id, a.test_mode, pair.key, pair.value, a.product_id
  from after a cross join lateral jsonb_each_text(a.metadata) pair where a.metadata <> '{}'
  except
  select b.account_id, b.test_mode, pair.key, pair.value, b.product_id
  from before b cross join lateral jsonb_each_text(b.metadata) pair where b.metadata <> '{}';
  return null;
end $function$;
alter function product_metadata_changed() owner to eligo_owner;
grant execute on function product_metadata_changed() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.product_metadata_removed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
begin
  delete from product_metadata m using removed r cross join lateral jsonb_each_text(r.metadata) pair
  where m.account_id = r.account_id and m.test_mode = r.test_mode and m.key = pair.key and m.value = pair.value and m.product_id = r.product_id;
  return null;
end $function$;
alter function product_metadata_removed() owner to eligo_owner;
grant execute on function product_metadata_removed() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.product_state_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
begin
  if exists (select from propagating_products g
    where g.account_id = new.account_id and g.test_mode = new.test_mode and g.product_id = new.product_id
      and g.changed_by = pg_current_xact_id() and g.from_price_id = '~')
  then
    return null;
  end if;
  update prices p set product_active = new.active, product_eligibility_key = new.eligibility_key
  where p.account_id = new.account_id and p.test_mode = new.test_mode and p.product_id = new.product_id
    and (p.product_active, p.product_eligibility_key) is distinct from (new.active, new.eligibility_key);
  delete from propagating_products g
  where g.account_id = new.account_id and g.test_mode = new.test_mode and g.product_id = new.product_id;
  return null;
end $function$;
alter function product_state_changed() owner to eligo_owner;
grant execute on function product_state_changed() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.product_tokens(account_id text, test_mode boolean, pending boolean, active boolean, metadata jsonb)
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN metadata_tokens(account_id, test_mode, CASE WHEN pending THEN 'pending'::text WHEN active THEN 'active'::text ELSE 'archived'::text END, metadata);
alter function product_tokens(account_id text, test_mode boolean, pending boolean, active boolean, metadata jsonb) owner to eligo_owner;
grant execute on function product_tokens(account_id text, test_mode boolean, pending boolean, active boolean, metadata jsonb) to eligo_catalog;
grant execute on function product_tokens(account_id text, test_mode boolean, pending boolean, active boolean, metadata jsonb) to eligo_finder;

CREATE OR REPLACE FUNCTION catalog.propagation_is_complete()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
declare first_passed text collate "C" := case when tg_op = 'DELETE' then '' else new.from_price_id end;
begin
  if exists (
    select from products r cross join lateral (
      select p.product_active, p.product_eligibility_key from prices p
      where p.account_id = r.account_id and p.test_mode = r.test_mode and p.product_id = r.product_id
        and p.price_id < old.from_price_id and p.price_id >= first_passed offset 0) passed
    where r.account_id = old.account_id and r.test_mode = old.test_mode and r.product_id = old.product_id
      and (passed.product_active, passed.product_eligibility_key) is distinct from (r.active, r.eligibility_key))
  then
    raise exception 'prices of % do not have its state yet', old.product_id
      using errcode = 'check_violation', constraint = 'propagation_is_complete';
  end if;
  return coalesce(new, old);
end $function$;
alter function propagation_is_complete() owner to eligo_owner;
grant execute on function propagation_is_complete() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.propagation_lag_seconds()
 RETURNS double precision
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
    select greatest(0, extract(epoch from clock_timestamp() - (select g.created_at from propagating_products g order by g.created_at limit 1)))
  $function$;
alter function propagation_lag_seconds() owner to eligo_finder;
grant execute on function propagation_lag_seconds() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.propagation_turns(after_account text, after_mode boolean, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, is_due boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
    with recursive turns as (
      (select g.account_id, g.test_mode, g.next_try_at, 1 as turn from propagating_products g
        where (g.account_id, g.test_mode) > (after_account collate "C", after_mode)
        order by g.account_id, g.test_mode, g.next_try_at limit 1)
      union all
      select n.account_id, n.test_mode, n.next_try_at, t.turn + 1 from turns t cross join lateral (
        select g.account_id, g.test_mode, g.next_try_at from propagating_products g
         where (g.account_id, g.test_mode) > (t.account_id, t.test_mode)
         order by g.account_id, g.test_mode, g.next_try_at limit 1) n
       where t.turn < most
    )
    select t.account_id, t.test_mode, t.next_try_at <= clock_timestamp() from turns t
  $function$;
alter function propagation_turns(after_account text, after_mode boolean, most integer) owner to eligo_finder;
grant execute on function propagation_turns(after_account text, after_mode boolean, most integer) to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.prune_events(outbox_days integer, inbox_days integer, batch integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'catalog', 'pg_temp'
AS $function$
  declare
    kept_from text collate "C";
    deleted bigint;
    forgotten bigint;
    passed bigint;
  begin
    if outbox_days < 7 then
      raise exception 'the outbox is kept for 7 days at least';
    end if;
    if inbox_days < 31 or inbox_days < outbox_days then
      raise exception 'the inbox is kept longer than the stream (30 days) and the outbox';
    end if;
    select coalesce(least(
        (select min(q.event_id) from outbox_queue q),
        (select min(p.oldest_new_event_id) from outbox_positions p
          where p.minute > now() - make_interval(days => outbox_days, mins => 1)),
        (select min(r.after_event_id) from outbox_repairs r where r.finished_at is null)
      ), '~') into kept_from;
    -- Of the oldest rows alone, and of a batch of them only if one of the first is old.
    with first as (
      select o.created_at from outbox o where o.event_id < kept_from order by o.event_id limit 100
    ), oldest as (
      select o.event_id, o.created_at, o.published_at from outbox o where o.event_id < kept_from order by o.event_id
      limit (select case when bool_or(f.created_at < now() - make_interval(days => outbox_days)) then batch else 0 end from first f)
    ), gone as (
      delete from outbox o using oldest where o.event_id = oldest.event_id
        and oldest.created_at < now() - make_interval(days => outbox_days)
        and (oldest.published_at is null or oldest.published_at < now() - make_interval(days => outbox_days))
      returning o.event_id, o.aggregate_seq
    ), noted as (
      update outbox_pruned p set aggregate_seq = greatest(p.aggregate_seq, g.aggregate_seq), event_id = greatest(p.event_id, g.event_id)
      from (select max(aggregate_seq) as aggregate_seq, max(event_id) as event_id from gone) g where g.event_id is not null
    )
    select count(*) from gone into deleted;
    -- An event's id begins with the time it was made, so the lowest ids are the oldest. A repair may have delivered an old event lately; its id stays.
    with recursive consumers as (
      (select i.consumer from inbox i order by i.consumer limit 1)
      union all
      select (select i.consumer from inbox i where i.consumer > c.consumer order by i.consumer limit 1) from consumers c
      where c.consumer is not null
    ), old as (
      select oldest.consumer, oldest.event_id from consumers c cross join lateral (
        select i.consumer, i.event_id, i.handled_at from inbox i where i.consumer = c.consumer order by i.event_id limit batch
      ) oldest
      where oldest.handled_at < now() - make_interval(days => inbox_days) limit batch
    ), gone as (
      delete from inbox i using old where (i.consumer, i.event_id) = (old.consumer, old.event_id) returning 1
    )
    select count(*) from gone into forgotten;
    -- The stream keeps nothing that long.
    with gone as (
      delete from outbox_positions where minute < (select max(minute) from outbox_positions) - make_interval(days => 45) returning 1
    )
    select count(*) from gone into passed;
    return deleted + forgotten + passed;
  end
  $function$;
alter function prune_events(outbox_days integer, inbox_days integer, batch integer) owner to eligo_finder;
grant execute on function prune_events(outbox_days integer, inbox_days integer, batch integer) to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.queue_event()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  begin
    insert into "catalog".outbox_queue (event_id) select event_id from appended;
    return null;
  end
  $function$;
alter function queue_event() owner to eligo_owner;
grant execute on function queue_event() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'a column of % that never changes was changed', tg_table_name using errcode = 'check_violation';
end $function$;
alter function refuse_change() owner to eligo_owner;
grant execute on function refuse_change() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.refuse_changed_history()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the audit log of operators is append-only'
    using errcode = 'check_violation', constraint = 'operator_actions_append_only';
end $function$;
alter function refuse_changed_history() owner to eligo_owner;
grant execute on function refuse_changed_history() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.refuse_redemption_move()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'a settled redemption does not move' using errcode = 'check_violation';
end $function$;
alter function refuse_redemption_move() owner to eligo_owner;
grant execute on function refuse_redemption_move() to eligo_catalog;

CREATE OR REPLACE FUNCTION catalog.refuse_unless_pending()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'a row of % that is not pending was deleted', tg_table_name using errcode = 'check_violation';
end $function$;
alter function refuse_unless_pending() owner to eligo_owner;
grant execute on function refuse_unless_pending() to eligo_catalog;

alter default privileges in schema catalog grant delete, insert, select, update on tables to eligo_catalog;

alter default privileges in schema catalog grant execute on functions to eligo_catalog;

alter default privileges in schema catalog grant usage on sequences to eligo_catalog;
