-- Schema billing, as its migrations leave it.

grant create, usage on schema billing to eligo_finder;

grant usage on schema billing to eligo_billing;

create table account_features (
  account_id text collate "C" not null,
  test_mode boolean not null,
  features text[] not null,
  version bigint not null,
  recorded_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint account_features_pkey PRIMARY KEY (account_id, test_mode),
  constraint account_features_version_check CHECK ((version > 0))
);
alter table account_features enable row level security;
alter table account_features force row level security;
create policy account_scope on account_features for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER guard_account_features BEFORE UPDATE ON billing.account_features FOR EACH ROW EXECUTE FUNCTION guard_account_features();
grant insert, select, update on account_features to eligo_billing;

create table authentication_notices (
  account_id text collate "C" not null,
  test_mode boolean not null,
  is_mailed boolean not null,
  updated_at timestamp(3) with time zone default now() not null,
  off_with_all boolean default false not null,
  constraint authentication_notices_pkey PRIMARY KEY (account_id, test_mode)
);
alter table authentication_notices enable row level security;
alter table authentication_notices force row level security;
create policy account_scope on authentication_notices for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant delete, insert, select, update on authentication_notices to eligo_billing;

create table backup_agreements (
  account_id text collate "C" not null,
  test_mode boolean not null,
  recorded_at timestamp(3) with time zone default now() not null,
  constraint backup_agreements_pkey PRIMARY KEY (account_id, test_mode)
);
alter table backup_agreements enable row level security;
alter table backup_agreements force row level security;
create policy account_scope on backup_agreements for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant delete, insert, select, update on backup_agreements to eligo_billing;

create table catalog_tasks (
  account_id text collate "C" not null,
  test_mode boolean not null,
  discount_id text collate "C" not null,
  subscription_id text collate "C" not null,
  kind text collate "C" not null,
  due_at timestamp(3) with time zone not null,
  tries integer default 0 not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint catalog_tasks_pkey PRIMARY KEY (account_id, test_mode, discount_id, kind),
  constraint catalog_tasks_kind_check CHECK ((kind = ANY (ARRAY['finalize'::text, 'release'::text, 'release_unless_written'::text])))
);
alter table catalog_tasks enable row level security;
alter table catalog_tasks force row level security;
create policy account_scope on catalog_tasks for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
create policy finder_reads on catalog_tasks for select to eligo_finder
  using (true);
CREATE INDEX catalog_tasks_due ON billing.catalog_tasks USING btree (due_at);
grant delete, insert, select, update on catalog_tasks to eligo_billing;
grant select on catalog_tasks to eligo_finder;

create table charging_instances (
  id text collate "C" not null,
  live_until timestamp(3) with time zone not null,
  constraint charging_instances_pkey PRIMARY KEY (id),
  constraint charging_instances_id_check CHECK (((length(id) >= 1) AND (length(id) <= 64)))
);
grant delete, insert, select, update on charging_instances to eligo_billing;

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
CREATE INDEX dead_letters_by_event ON billing.dead_letters USING btree (event_id, consumer);
CREATE INDEX dead_letters_redrive ON billing.dead_letters USING btree (consumer, redrive_at) WHERE (redrive_at IS NOT NULL);
grant delete, insert, select, update on dead_letters to eligo_billing;

create table dunning_settings (
  account_id text collate "C" not null,
  test_mode boolean not null,
  retry_days smallint[] not null,
  ends_with text collate "C" not null,
  updated_at timestamp(3) with time zone not null,
  constraint dunning_settings_pkey PRIMARY KEY (account_id, test_mode),
  constraint dunning_settings_ends_with_check CHECK ((ends_with = ANY (ARRAY['canceled'::text, 'unpaid'::text]))),
  constraint retries_are_few CHECK ((((cardinality(retry_days) >= 1) AND (cardinality(retry_days) <= 10)) AND (1 <= ALL (retry_days)))),
  constraint retry_days_ascend CHECK (((array_ndims(retry_days) = 1) AND (array_lower(retry_days, 1) = 1) AND (array_position(retry_days, NULL::smallint) IS NULL) AND (60 >= ALL (retry_days)) AND ((retry_days[1] < retry_days[2]) IS NOT FALSE) AND ((retry_days[2] < retry_days[3]) IS NOT FALSE) AND ((retry_days[3] < retry_days[4]) IS NOT FALSE) AND ((retry_days[4] < retry_days[5]) IS NOT FALSE) AND ((retry_days[5] < retry_days[6]) IS NOT FALSE) AND ((retry_days[6] < retry_days[7]) IS NOT FALSE) AND ((retry_days[7] < retry_days[8]) IS NOT FALSE) AND ((retry_days[8] < retry_days[9]) IS NOT FALSE) AND ((retry_days[9] < retry_days[10]) IS NOT FALSE))) NOT VALID
);
alter table dunning_settings enable row level security;
alter table dunning_settings force row level security;
create policy account_scope on dunning_settings for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select, update on dunning_settings to eligo_billing;

create table erased_sessions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  erased_at timestamp(3) with time zone default now() not null,
  constraint erased_sessions_pkey PRIMARY KEY (account_id, test_mode, session_id)
);
alter table erased_sessions enable row level security;
alter table erased_sessions force row level security;
create policy account_scope on erased_sessions for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant select on erased_sessions to eligo_billing;

create table idempotency_keys (
  account_id text collate "C" not null,
  test_mode boolean not null,
  endpoint text collate "C" not null,
  key text collate "C" not null,
  request_hash bytea not null,
  state text default 'in_progress'::text not null,
  attempt_id text collate "C",
  epoch integer default 1 not null,
  lease_until timestamp(3) with time zone not null,
  status integer,
  body bytea,
  created_at timestamp(3) with time zone default now() not null,
  finished_at timestamp(3) with time zone,
  constraint idempotency_keys_pkey PRIMARY KEY (account_id, test_mode, endpoint, key)
);
alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;
create policy finder_prunes on idempotency_keys for delete to eligo_finder
  using (((state = 'finished'::text) AND (created_at < (now() - '30 days'::interval))));
create policy finder_prunes_released on idempotency_keys for delete to eligo_finder
  using (((state = 'in_progress'::text) AND (attempt_id IS NULL) AND (lease_until < now()) AND (created_at < (now() - '30 days'::interval))));
create policy finder_sees on idempotency_keys for select to eligo_finder
  using (true);
create policy scope on idempotency_keys for all to eligo_billing
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX idempotency_keys_attempt ON billing.idempotency_keys USING btree (account_id, test_mode, attempt_id) WHERE (attempt_id IS NOT NULL);
CREATE INDEX idempotency_keys_created ON billing.idempotency_keys USING btree (created_at);
CREATE TRIGGER guard_idempotency_key BEFORE INSERT OR UPDATE ON billing.idempotency_keys FOR EACH ROW EXECUTE FUNCTION guard_idempotency_key();
grant delete, insert, select, update on idempotency_keys to eligo_billing;
grant delete, select on idempotency_keys to eligo_finder;

create table inbox (
  consumer text collate "C" not null,
  event_id text collate "C" not null,
  handled_at timestamp(3) with time zone default now() not null,
  constraint inbox_pkey PRIMARY KEY (consumer, event_id)
);
grant delete, select on inbox to eligo_finder;
grant insert, select on inbox to eligo_billing;

create table invoice_charges (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  invoice_id text collate "C" not null,
  leg text collate "C" not null,
  backup boolean not null,
  payment_method_id text collate "C" not null,
  amount_cents bigint not null,
  status text collate "C" not null,
  acting_at timestamp(3) with time zone not null,
  payment_intent_id text collate "C",
  charge_id text collate "C",
  failure_code text collate "C",
  decline_code text collate "C",
  created_at timestamp(3) with time zone default now() not null,
  settled_at timestamp(3) with time zone,
  on_page boolean default false not null,
  with_customer boolean default false not null,
  card_updated boolean default false not null,
  awaits_new_card boolean default false not null,
  constraint invoice_charges_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint invoice_charges_account_id_test_mode_invoice_id_fkey FOREIGN KEY (account_id, test_mode, invoice_id) REFERENCES invoices(account_id, test_mode, id),
  constraint charge_on_one_page CHECK ((NOT (on_page AND with_customer))),
  constraint invoice_charges_amount_cents_check CHECK ((amount_cents >= 1)),
  constraint invoice_charges_leg_check CHECK ((leg = ANY (ARRAY['health'::text, 'other'::text]))),
  constraint invoice_charges_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'declined'::text, 'abandoned'::text]))),
  constraint settled_is_dated CHECK (((status = 'pending'::text) = (settled_at IS NULL)))
);
alter table invoice_charges enable row level security;
alter table invoice_charges force row level security;
create policy account_scope on invoice_charges for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX invoice_charges_by_invoice ON billing.invoice_charges USING btree (account_id, test_mode, invoice_id, id);
CREATE UNIQUE INDEX invoice_charges_one_of_a_leg ON billing.invoice_charges USING btree (account_id, test_mode, invoice_id, leg) WHERE (status = ANY (ARRAY['pending'::text, 'succeeded'::text]));
CREATE UNIQUE INDEX invoice_charges_one_pending ON billing.invoice_charges USING btree (account_id, test_mode, invoice_id) WHERE (status = 'pending'::text);
CREATE INDEX invoice_charges_pending_by_card ON billing.invoice_charges USING btree (account_id, test_mode, payment_method_id) WHERE (status = 'pending'::text);
CREATE CONSTRAINT TRIGGER check_succeeded_charge AFTER INSERT OR UPDATE ON billing.invoice_charges DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.status = 'succeeded'::text)) EXECUTE FUNCTION check_succeeded_charge();
CREATE TRIGGER guard_invoice_charge BEFORE INSERT OR UPDATE ON billing.invoice_charges FOR EACH ROW EXECUTE FUNCTION guard_invoice_charge();
grant insert, select, update on invoice_charges to eligo_billing;

create table invoice_credits (
  account_id text collate "C" not null,
  test_mode boolean not null,
  invoice_id text collate "C" not null,
  proration_id text collate "C" not null,
  amount_cents bigint not null,
  eligible boolean not null,
  constraint invoice_credits_pkey PRIMARY KEY (account_id, test_mode, invoice_id, proration_id),
  constraint invoice_credits_account_id_test_mode_invoice_id_fkey FOREIGN KEY (account_id, test_mode, invoice_id) REFERENCES invoices(account_id, test_mode, id),
  constraint invoice_credits_account_id_test_mode_proration_id_fkey FOREIGN KEY (account_id, test_mode, proration_id) REFERENCES prorations(account_id, test_mode, id),
  constraint invoice_credits_amount_cents_check CHECK ((amount_cents >= 1))
);
alter table invoice_credits enable row level security;
alter table invoice_credits force row level security;
create policy account_scope on invoice_credits for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX invoice_credits_by_proration ON billing.invoice_credits USING btree (account_id, test_mode, proration_id);
CREATE CONSTRAINT TRIGGER check_carried_proration AFTER INSERT ON billing.invoice_credits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_carried_proration();
CREATE CONSTRAINT TRIGGER check_invoice_credits AFTER INSERT ON billing.invoice_credits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_invoice_lines();
grant insert, select on invoice_credits to eligo_billing;

create table invoice_lines (
  account_id text collate "C" not null,
  test_mode boolean not null,
  invoice_id text collate "C" not null,
  "position" smallint not null,
  subscription_item_id text collate "C" not null,
  price_id text collate "C" not null,
  product_id text collate "C",
  quantity bigint not null,
  unit_amount_cents bigint not null,
  subtotal_cents bigint not null,
  discount_cents bigint not null,
  tax_cents bigint not null,
  shipping_cents bigint not null,
  total_cents bigint not null,
  eligible_cents bigint not null,
  eligibility text collate "C",
  rule text collate "C" not null,
  rule_version text collate "C" not null,
  rationale text not null,
  letter_id text collate "C",
  proration_id text collate "C",
  constraint invoice_lines_pkey PRIMARY KEY (account_id, test_mode, invoice_id, "position"),
  constraint invoice_lines_account_id_test_mode_invoice_id_fkey FOREIGN KEY (account_id, test_mode, invoice_id) REFERENCES invoices(account_id, test_mode, id),
  constraint eligible_by_its_letter CHECK (((eligibility IS DISTINCT FROM 'letter_of_medical_necessity'::text) OR (eligible_cents = 0) OR (letter_id IS NOT NULL))),
  constraint invoice_lines_discount_cents_check CHECK ((discount_cents >= 0)),
  constraint invoice_lines_eligible_cents_check CHECK ((eligible_cents >= 0)),
  constraint invoice_lines_position_check CHECK (("position" >= 0)),
  constraint invoice_lines_quantity_check CHECK ((quantity >= 1)),
  constraint invoice_lines_shipping_cents_check CHECK ((shipping_cents >= 0)),
  constraint invoice_lines_subtotal_cents_check CHECK ((subtotal_cents >= 0)),
  constraint invoice_lines_tax_cents_check CHECK ((tax_cents >= 0)),
  constraint invoice_lines_total_cents_check CHECK ((total_cents >= 0)),
  constraint invoice_lines_unit_amount_cents_check CHECK ((unit_amount_cents >= 0)),
  constraint line_is_eligible_or_not CHECK (((eligible_cents = 0) OR (eligible_cents = total_cents))),
  constraint line_subtotal CHECK ((subtotal_cents = (quantity * unit_amount_cents))),
  constraint line_total CHECK ((total_cents = (((subtotal_cents - discount_cents) + tax_cents) + shipping_cents)))
);
alter table invoice_lines enable row level security;
alter table invoice_lines force row level security;
create policy account_scope on invoice_lines for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE UNIQUE INDEX invoice_lines_one_of_a_proration ON billing.invoice_lines USING btree (account_id, test_mode, proration_id) WHERE (proration_id IS NOT NULL);
CREATE CONSTRAINT TRIGGER check_carried_proration AFTER INSERT ON billing.invoice_lines DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.proration_id IS NOT NULL)) EXECUTE FUNCTION check_carried_proration();
CREATE CONSTRAINT TRIGGER check_invoice_lines AFTER INSERT ON billing.invoice_lines DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_invoice_lines();
grant insert, select on invoice_lines to eligo_billing;

create table invoice_numbers (
  account_id text collate "C" not null,
  test_mode boolean not null,
  next bigint not null,
  constraint invoice_numbers_pkey PRIMARY KEY (account_id, test_mode),
  constraint invoice_numbers_next_check CHECK ((next >= 1))
);
alter table invoice_numbers enable row level security;
alter table invoice_numbers force row level security;
create policy account_scope on invoice_numbers for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select, update on invoice_numbers to eligo_billing;

create table invoices (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  subscription_id text collate "C",
  customer_id text collate "C" not null,
  checkout_session_id text collate "C",
  status text collate "C" not null,
  collection_method text collate "C" not null,
  total_cents bigint not null,
  amount_paid_cents bigint default 0 not null,
  payment_intent_id text collate "C",
  charge_id text collate "C",
  backup_charge_status text collate "C",
  period_start timestamp(3) with time zone not null,
  period_end timestamp(3) with time zone not null,
  paid_at timestamp(3) with time zone,
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone not null,
  version bigint default 1 not null,
  number bigint,
  eligible_cents bigint default 0 not null,
  finalized_at timestamp(3) with time zone,
  attempts smallint default 0 not null,
  first_failed_at timestamp(3) with time zone,
  failure_code text collate "C",
  decline_code text collate "C",
  refused_payment_method_id text collate "C",
  billing_reason text collate "C",
  pay_with_payment_method_id text collate "C",
  page_url text,
  pays_on_page boolean default false not null,
  pay_with_backup_payment_method_id text collate "C",
  health_refused boolean default false not null,
  refused_backup_payment_method_id text collate "C",
  scheduled_payment_at timestamp(3) with time zone,
  updated_payment_method_ids text[] default '{}'::text[] not null,
  page_tries_without_charge integer default 0 not null,
  time_zone text collate "C",
  constraint invoices_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint invoices_account_id_test_mode_subscription_id_fkey FOREIGN KEY (account_id, test_mode, subscription_id) REFERENCES subscriptions(account_id, test_mode, id) DEFERRABLE INITIALLY DEFERRED,
  constraint backup_charge_statuses CHECK ((backup_charge_status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text]))) NOT VALID,
  constraint backup_of_a_page_payment CHECK ((pays_on_page OR (pay_with_backup_payment_method_id IS NULL))),
  constraint billing_reasons CHECK ((billing_reason = ANY (ARRAY['subscription_create'::text, 'subscription_cycle'::text, 'subscription_update'::text]))) NOT VALID,
  constraint eligible_within_total CHECK (((eligible_cents >= 0) AND (eligible_cents <= total_cents))) NOT VALID,
  constraint failures_are_dated CHECK (((attempts >= 0) AND ((attempts > 0) = (first_failed_at IS NOT NULL)))) NOT VALID,
  constraint invoice_period_has_a_length CHECK ((period_end > period_start)),
  constraint invoices_amount_paid_cents_check CHECK ((amount_paid_cents >= 0)),
  constraint invoices_collection_method_check CHECK ((collection_method = 'charge_automatically'::text)),
  constraint invoices_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'open'::text, 'paid'::text, 'void'::text, 'uncollectible'::text]))),
  constraint invoices_time_zone CHECK ((time_zone <> ''::text)) NOT VALID,
  constraint invoices_total_cents_check CHECK ((total_cents >= 0)),
  constraint page_payment_names_a_card CHECK (((NOT pays_on_page) OR (pay_with_payment_method_id IS NOT NULL))),
  constraint page_tries_within_attempts CHECK (((page_tries_without_charge >= 0) AND (page_tries_without_charge <= attempts))),
  constraint paid_is_paid_in_full CHECK ((((status = 'paid'::text) = (paid_at IS NOT NULL)) AND ((status <> 'paid'::text) OR (amount_paid_cents = total_cents)))),
  constraint paid_within_total CHECK ((amount_paid_cents <= total_cents)),
  constraint scheduled_behind_another_card CHECK (((scheduled_payment_at IS NULL) OR (pay_with_payment_method_id IS NOT NULL)))
);
alter table invoices enable row level security;
alter table invoices force row level security;
create policy account_scope on invoices for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX invoices_by_customer ON billing.invoices USING btree (account_id, test_mode, customer_id, id);
CREATE UNIQUE INDEX invoices_by_number ON billing.invoices USING btree (account_id, test_mode, number) WHERE (number IS NOT NULL);
CREATE INDEX invoices_by_subscription ON billing.invoices USING btree (account_id, test_mode, subscription_id, id);
CREATE UNIQUE INDEX invoices_one_of_a_period ON billing.invoices USING btree (account_id, test_mode, subscription_id, period_start) WHERE ((subscription_id IS NOT NULL) AND (billing_reason IS DISTINCT FROM 'subscription_update'::text));
CREATE UNIQUE INDEX invoices_one_open ON billing.invoices USING btree (account_id, test_mode, subscription_id) WHERE ((subscription_id IS NOT NULL) AND (status = ANY (ARRAY['draft'::text, 'open'::text])));
CREATE CONSTRAINT TRIGGER check_credits_of_void_invoice AFTER UPDATE ON billing.invoices DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.status = 'void'::text) AND (old.status <> 'void'::text))) EXECUTE FUNCTION check_credits_of_void_invoice();
CREATE CONSTRAINT TRIGGER check_new_paid_invoice AFTER INSERT ON billing.invoices DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.amount_paid_cents > 0) AND (new.checkout_session_id IS NULL))) EXECUTE FUNCTION check_paid_invoice();
CREATE CONSTRAINT TRIGGER check_paid_invoice AFTER UPDATE ON billing.invoices DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.amount_paid_cents <> old.amount_paid_cents)) EXECUTE FUNCTION check_paid_invoice();
CREATE TRIGGER clear_scheduled_payment BEFORE UPDATE OF pay_with_payment_method_id ON billing.invoices FOR EACH ROW WHEN (((new.pay_with_payment_method_id IS NULL) AND (old.pay_with_payment_method_id IS NOT NULL))) EXECUTE FUNCTION clear_scheduled_payment();
CREATE TRIGGER guard_invoice BEFORE UPDATE ON billing.invoices FOR EACH ROW EXECUTE FUNCTION guard_invoice();
CREATE TRIGGER guard_invoice_time_zone BEFORE UPDATE OF time_zone ON billing.invoices FOR EACH ROW WHEN ((new.time_zone IS DISTINCT FROM old.time_zone)) EXECUTE FUNCTION guard_invoice_time_zone();
CREATE TRIGGER guard_refused_health_card BEFORE UPDATE OF health_refused ON billing.invoices FOR EACH ROW WHEN ((new.health_refused AND (NOT old.health_refused))) EXECUTE FUNCTION guard_refused_health_card();
CREATE TRIGGER note_card_update AFTER UPDATE OF refused_payment_method_id, refused_backup_payment_method_id ON billing.invoices FOR EACH ROW WHEN ((((old.refused_payment_method_id IS NOT NULL) AND (new.refused_payment_method_id IS NULL)) OR ((old.refused_backup_payment_method_id IS NOT NULL) AND (new.refused_backup_payment_method_id IS NULL)))) EXECUTE FUNCTION note_card_update();
grant insert, select, update on invoices to eligo_billing;

create table migrations (
  id text collate "C" not null,
  checksum text not null,
  applied_at timestamp(3) with time zone default now() not null,
  constraint migrations_pkey PRIMARY KEY (id)
);
grant select on migrations to eligo_billing;

create table notice_mails (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  invoice_id text collate "C" not null,
  attempt smallint not null,
  failure_day smallint not null,
  status text collate "C" not null,
  tries integer default 0 not null,
  epoch integer default 0 not null,
  lease_until timestamp with time zone,
  next_try_at timestamp with time zone,
  failure_code text,
  sent_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null,
  asks_to_confirm boolean default false not null,
  written_at timestamp(3) with time zone default now(),
  constraint notice_mails_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint one_notice_for_each_attempt UNIQUE (account_id, test_mode, invoice_id, attempt),
  constraint notice_mails_account_id_test_mode_invoice_id_fkey FOREIGN KEY (account_id, test_mode, invoice_id) REFERENCES invoices(account_id, test_mode, id),
  constraint notice_mails_attempt_check CHECK ((attempt >= 1)),
  constraint notice_mails_failure_day_check CHECK ((failure_day >= 0)),
  constraint notice_mails_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text, 'dropped'::text]))),
  constraint notice_mails_tries_check CHECK ((tries >= 0)),
  constraint pending_has_a_next_try CHECK (((status = 'pending'::text) = (next_try_at IS NOT NULL))),
  constraint sent_has_a_time CHECK (((status = 'sent'::text) = (sent_at IS NOT NULL)))
);
alter table notice_mails enable row level security;
alter table notice_mails force row level security;
create policy account_scope on notice_mails for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
create policy finder_reads on notice_mails for select to eligo_finder
  using (true);
CREATE INDEX notice_mails_due ON billing.notice_mails USING btree (next_try_at) WHERE (status = 'pending'::text);
CREATE INDEX notice_mails_due_of_account ON billing.notice_mails USING btree (account_id, test_mode, next_try_at) WHERE (status = 'pending'::text);
CREATE UNIQUE INDEX one_notice_of_a_kind_a_day ON billing.notice_mails USING btree (account_id, test_mode, invoice_id, failure_day, asks_to_confirm);
CREATE TRIGGER guard_notice_mail BEFORE INSERT OR UPDATE ON billing.notice_mails FOR EACH ROW EXECUTE FUNCTION guard_notice_mail();
grant insert, select on notice_mails to eligo_billing;
grant select on notice_mails to eligo_finder;
grant update (status), update (tries), update (epoch), update (lease_until), update (next_try_at), update (failure_code), update (sent_at) on notice_mails to eligo_billing;

create table notice_settings (
  account_id text collate "C" not null,
  test_mode boolean not null,
  merchant_name text not null,
  updated_at timestamp(3) with time zone default now() not null,
  reminder_days smallint,
  manage_url text,
  mails_invoices boolean default false not null,
  constraint notice_settings_pkey PRIMARY KEY (account_id, test_mode),
  constraint notice_settings_manage_url_check CHECK (((length(manage_url) <= 500) AND (manage_url ~ '^https://[^[:space:][:cntrl:]]+$'::text))),
  constraint notice_settings_merchant_name_check CHECK ((((length(merchant_name) >= 1) AND (length(merchant_name) <= 200)) AND (merchant_name !~ '[[:cntrl:]]'::text))),
  constraint notice_settings_reminder_days_check CHECK (((reminder_days >= 1) AND (reminder_days <= 60)))
);
alter table notice_settings enable row level security;
alter table notice_settings force row level security;
create policy account_scope on notice_settings for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant delete, insert, select, update on notice_settings to eligo_billing;

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
CREATE INDEX operator_actions_by_account ON billing.operator_actions USING btree (account_id, number) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_by_account_and_operator ON billing.operator_actions USING btree (account_id, operator_name, number) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_by_operator ON billing.operator_actions USING btree (operator_name, number);
CREATE UNIQUE INDEX operator_proof_once ON billing.operator_actions USING btree (proof_id) WHERE (proof_id IS NOT NULL);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON billing.operator_actions FOR EACH ROW EXECUTE FUNCTION refuse_changed_history();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON billing.operator_actions FOR EACH STATEMENT EXECUTE FUNCTION refuse_changed_history();
grant insert (operator_id), insert (operator_name), insert (login_id), insert (action), insert (account_id), insert (test_mode), insert (subject_id), insert (request_id), insert (refused), insert (proof_id) on operator_actions to eligo_billing;
grant select on operator_actions to eligo_billing;

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
CREATE TRIGGER follow_published_mark AFTER UPDATE OF published_at ON billing.outbox FOR EACH ROW WHEN ((new.published_at IS DISTINCT FROM old.published_at)) EXECUTE FUNCTION follow_published_mark();
CREATE TRIGGER queue_event AFTER INSERT ON billing.outbox REFERENCING NEW TABLE AS appended FOR EACH STATEMENT EXECUTE FUNCTION queue_event();
grant delete, select on outbox to eligo_finder;
grant insert, select on outbox to eligo_billing;
grant update (payload) on outbox to eligo_finder;
grant update (published_at), update (stream_seq) on outbox to eligo_billing;

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
CREATE TRIGGER places_ascend BEFORE INSERT ON billing.outbox_positions FOR EACH ROW EXECUTE FUNCTION guard_places();
grant delete, insert, select, update on outbox_positions to eligo_billing;
grant delete, select on outbox_positions to eligo_finder;

create table outbox_pruned (
  only_row boolean default true not null,
  aggregate_seq bigint not null,
  event_id text collate "C" not null,
  constraint outbox_pruned_pkey PRIMARY KEY (only_row),
  constraint outbox_pruned_only_row_check CHECK (only_row)
);
grant select on outbox_pruned to eligo_billing;
grant select, update on outbox_pruned to eligo_finder;

create table outbox_queue (
  event_id text collate "C" not null,
  queued_again_at timestamp(3) with time zone,
  constraint outbox_queue_pkey PRIMARY KEY (event_id)
);
grant delete, insert, select on outbox_queue to eligo_billing;
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
grant insert, select on outbox_repairs to eligo_billing;
grant select on outbox_repairs to eligo_finder;
grant update (events), update (after_event_id), update (finished_at) on outbox_repairs to eligo_billing;

create table outbox_stream (
  stream text collate "C" not null,
  created text not null,
  constraint outbox_stream_pkey PRIMARY KEY (stream)
);
grant delete, insert, select, update on outbox_stream to eligo_billing;

create table prorations (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  subscription_id text collate "C" not null,
  subscription_item_id text collate "C" not null,
  kind text collate "C" not null,
  price_id text collate "C" not null,
  product_id text collate "C",
  quantity bigint not null,
  whole_cents bigint not null,
  subtotal_cents bigint not null,
  discount_cents bigint not null,
  tax_cents bigint not null,
  shipping_cents bigint not null,
  amount_cents bigint not null,
  eligible boolean not null,
  eligibility text collate "C",
  rule text collate "C" not null,
  rule_version text collate "C" not null,
  rationale text not null,
  letter_id text collate "C",
  period_start timestamp(3) with time zone not null,
  period_end timestamp(3) with time zone not null,
  left_cents bigint not null,
  created_at timestamp(3) with time zone not null,
  is_share boolean default false not null,
  unpaid_cents bigint default 0 not null,
  unpaid_invoice_id text collate "C",
  lapsed_cents bigint default 0 not null,
  seq bigint default nextval('proration_seq'::regclass),
  constraint prorations_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint prorations_account_id_test_mode_subscription_id_fkey FOREIGN KEY (account_id, test_mode, subscription_id) REFERENCES subscriptions(account_id, test_mode, id),
  constraint charge_eligible_by_its_letter CHECK (((kind = 'credit'::text) OR (NOT eligible) OR (eligibility IS DISTINCT FROM 'letter_of_medical_necessity'::text) OR (letter_id IS NOT NULL))),
  constraint charge_is_whole CHECK (((kind = 'credit'::text) OR ((left_cents = 0) OR (left_cents = amount_cents)))),
  constraint lapsed_within_unpaid CHECK ((((lapsed_cents >= 0) AND (lapsed_cents <= unpaid_cents)) AND ((lapsed_cents = 0) OR (unpaid_invoice_id IS NOT NULL)))),
  constraint left_within_amount CHECK (((left_cents >= 0) AND (left_cents <= amount_cents))),
  constraint proration_has_a_length CHECK ((period_end > period_start)),
  constraint proration_total CHECK ((amount_cents = (((subtotal_cents - discount_cents) + tax_cents) + shipping_cents))),
  constraint proration_within_period CHECK ((amount_cents <= whole_cents)),
  constraint prorations_amount_cents_check CHECK ((amount_cents >= 1)),
  constraint prorations_discount_cents_check CHECK ((discount_cents >= 0)),
  constraint prorations_kind_check CHECK ((kind = ANY (ARRAY['credit'::text, 'charge'::text]))),
  constraint prorations_quantity_check CHECK ((quantity >= 1)),
  constraint prorations_shipping_cents_check CHECK ((shipping_cents >= 0)),
  constraint prorations_subtotal_cents_check CHECK ((subtotal_cents >= 0)),
  constraint prorations_tax_cents_check CHECK ((tax_cents >= 0)),
  constraint prorations_whole_cents_check CHECK ((whole_cents >= 1)),
  constraint unpaid_within_credit CHECK ((((unpaid_cents >= 0) AND (unpaid_cents <= amount_cents)) AND ((kind = 'credit'::text) OR (unpaid_cents = 0))))
);
alter table prorations enable row level security;
alter table prorations force row level security;
create policy account_scope on prorations for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX prorations_pending ON billing.prorations USING btree (account_id, test_mode, subscription_id, id) WHERE (left_cents > 0);
CREATE CONSTRAINT TRIGGER check_changed_proration AFTER INSERT OR UPDATE ON billing.prorations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_changed_proration();
CREATE TRIGGER guard_proration BEFORE UPDATE ON billing.prorations FOR EACH ROW EXECUTE FUNCTION guard_proration();
grant insert, select, update on prorations to eligo_billing;

create table receipt_mails (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  receipt_id text collate "C" not null,
  cause text collate "C",
  status text collate "C" not null,
  tries integer default 0 not null,
  epoch integer default 0 not null,
  lease_until timestamp with time zone,
  next_try_at timestamp with time zone,
  failure_code text,
  sent_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null,
  constraint receipt_mails_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint receipt_mails_account_id_test_mode_receipt_id_fkey FOREIGN KEY (account_id, test_mode, receipt_id) REFERENCES receipts(account_id, test_mode, id),
  constraint pending_has_a_next_try CHECK (((status = 'pending'::text) = (next_try_at IS NOT NULL))),
  constraint receipt_mails_cause_check CHECK ((cause = 'issued'::text)),
  constraint receipt_mails_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text]))),
  constraint receipt_mails_tries_check CHECK ((tries >= 0)),
  constraint sent_has_a_time CHECK (((status = 'sent'::text) = (sent_at IS NOT NULL)))
);
alter table receipt_mails enable row level security;
alter table receipt_mails force row level security;
create policy account_scope on receipt_mails for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
create policy finder_reads on receipt_mails for select to eligo_finder
  using (true);
CREATE UNIQUE INDEX one_mail_for_each_cause ON billing.receipt_mails USING btree (account_id, test_mode, receipt_id, cause) WHERE (cause IS NOT NULL);
CREATE UNIQUE INDEX one_pending_mail_for_each_receipt ON billing.receipt_mails USING btree (account_id, test_mode, receipt_id) WHERE (status = 'pending'::text);
CREATE INDEX receipt_mails_by_receipt ON billing.receipt_mails USING btree (account_id, test_mode, receipt_id, id);
CREATE INDEX receipt_mails_due ON billing.receipt_mails USING btree (next_try_at) WHERE (status = 'pending'::text);
CREATE INDEX receipt_mails_due_of_account ON billing.receipt_mails USING btree (account_id, test_mode, next_try_at) WHERE (status = 'pending'::text);
CREATE TRIGGER guard_receipt_mail BEFORE UPDATE ON billing.receipt_mails FOR EACH ROW EXECUTE FUNCTION guard_receipt_mail();
grant insert, select on receipt_mails to eligo_billing;
grant select on receipt_mails to eligo_finder;
grant update (status), update (tries), update (epoch), update (lease_until), update (next_try_at), update (failure_code), update (sent_at) on receipt_mails to eligo_billing;

create table receipts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  checkout_session_id text collate "C" not null,
  subscription_id text collate "C",
  email text not null,
  amount_cents bigint not null,
  content jsonb not null,
  html text,
  pdf bytea,
  created_at timestamp(3) with time zone not null,
  refund_id text collate "C",
  constraint receipts_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint both_documents_or_none CHECK (((html IS NULL) = (pdf IS NULL))),
  constraint only_a_refund_comes_to_nothing CHECK (((amount_cents > 0) OR ((amount_cents = 0) AND (refund_id IS NOT NULL)))),
  constraint receipts_email_check CHECK (((length(email) >= 3) AND (length(email) <= 320)))
);
alter table receipts enable row level security;
alter table receipts force row level security;
create policy account_scope on receipts for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE UNIQUE INDEX one_receipt_for_each_amount_of_a_refund ON billing.receipts USING btree (account_id, test_mode, refund_id, amount_cents) WHERE (refund_id IS NOT NULL);
CREATE UNIQUE INDEX one_receipt_for_each_purchase ON billing.receipts USING btree (account_id, test_mode, checkout_session_id) WHERE (refund_id IS NULL);
CREATE INDEX receipts_by_session ON billing.receipts USING btree (account_id, test_mode, checkout_session_id, id);
CREATE INDEX receipts_by_subscription ON billing.receipts USING btree (account_id, test_mode, subscription_id, id) WHERE (subscription_id IS NOT NULL);
CREATE TRIGGER guard_receipt BEFORE UPDATE ON billing.receipts FOR EACH ROW EXECUTE FUNCTION guard_receipt();
grant insert, select on receipts to eligo_billing;
grant update (html), update (pdf) on receipts to eligo_billing;

create table renewal_settings (
  account_id text collate "C" not null,
  test_mode boolean not null,
  spread_minutes smallint not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint renewal_settings_pkey PRIMARY KEY (account_id, test_mode),
  constraint renewal_settings_spread_minutes_check CHECK (((spread_minutes >= 1) AND (spread_minutes <= 60)))
);
alter table renewal_settings enable row level security;
alter table renewal_settings force row level security;
create policy account_scope on renewal_settings for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant delete, insert, select, update on renewal_settings to eligo_billing;

create table shop_names (
  account_id text collate "C" not null,
  test_mode boolean not null,
  name text not null,
  version bigint not null,
  recorded_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint shop_names_pkey PRIMARY KEY (account_id, test_mode),
  constraint shop_names_name_check CHECK ((name <> ''::text)),
  constraint shop_names_of_live_mode CHECK ((NOT test_mode)),
  constraint shop_names_version_check CHECK ((version > 0))
);
alter table shop_names enable row level security;
alter table shop_names force row level security;
create policy own_rows on shop_names for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER guard_shop_name BEFORE UPDATE ON billing.shop_names FOR EACH ROW EXECUTE FUNCTION guard_shop_name();
grant insert, select, update on shop_names to eligo_billing;

create table subscription_items (
  account_id text collate "C" not null,
  test_mode boolean not null,
  subscription_id text collate "C" not null,
  id text collate "C" not null,
  "position" smallint not null,
  price_id text collate "C" not null,
  quantity bigint not null,
  unit_amount_cents bigint not null,
  created_at timestamp(3) with time zone not null,
  updated_at timestamp(3) with time zone not null,
  product_id text collate "C",
  sold_by_rule text collate "C",
  tax_cents bigint default 0 not null,
  shipping_cents bigint default 0 not null,
  invoiced_cents bigint,
  invoiced_eligible boolean,
  agreed_tax_cents bigint,
  agreed_subtotal_cents bigint,
  constraint subscription_items_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint subscription_items_account_id_test_mode_subscription_id_pos_key UNIQUE (account_id, test_mode, subscription_id, "position"),
  constraint subscription_items_account_id_test_mode_subscription_id_fkey FOREIGN KEY (account_id, test_mode, subscription_id) REFERENCES subscriptions(account_id, test_mode, id),
  constraint agreed_amounts CHECK (((tax_cents >= 0) AND (shipping_cents >= 0))) NOT VALID,
  constraint agreed_tax CHECK ((((agreed_tax_cents IS NULL) AND (agreed_subtotal_cents IS NULL)) OR ((agreed_tax_cents IS NOT NULL) AND (agreed_subtotal_cents IS NOT NULL) AND (agreed_tax_cents >= 0) AND (agreed_subtotal_cents > 0)))),
  constraint invoiced_is_whole CHECK ((((invoiced_cents IS NULL) = (invoiced_eligible IS NULL)) AND (invoiced_cents >= 0))) NOT VALID,
  constraint subscription_items_position_check CHECK (("position" >= 0)),
  constraint subscription_items_quantity_check CHECK ((quantity >= 1)),
  constraint subscription_items_unit_amount_cents_check CHECK ((unit_amount_cents >= 0))
);
alter table subscription_items enable row level security;
alter table subscription_items force row level security;
create policy account_scope on subscription_items for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant delete, insert, select, update on subscription_items to eligo_billing;

create table subscription_mails (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  subscription_id text collate "C" not null,
  kind text collate "C" not null,
  about timestamp(3) with time zone not null,
  status text collate "C" not null,
  tries integer default 0 not null,
  epoch integer default 0 not null,
  lease_until timestamp with time zone,
  next_try_at timestamp with time zone,
  failure_code text,
  sent_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null,
  invoice_id text collate "C",
  constraint subscription_mails_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint subscription_mails_account_id_test_mode_subscription_id_fkey FOREIGN KEY (account_id, test_mode, subscription_id) REFERENCES subscriptions(account_id, test_mode, id),
  constraint paid_mail_names_its_invoice CHECK (((kind = 'paid'::text) = (invoice_id IS NOT NULL))),
  constraint pending_has_a_next_try CHECK (((status = 'pending'::text) = (next_try_at IS NOT NULL))),
  constraint sent_has_a_time CHECK (((status = 'sent'::text) = (sent_at IS NOT NULL))),
  constraint subscription_mail_kinds CHECK ((kind = ANY (ARRAY['trial_end'::text, 'renewal'::text, 'ended'::text, 'paid'::text]))),
  constraint subscription_mails_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text, 'dropped'::text]))),
  constraint subscription_mails_tries_check CHECK ((tries >= 0))
);
alter table subscription_mails enable row level security;
alter table subscription_mails force row level security;
create policy account_scope on subscription_mails for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
create policy finder_reads on subscription_mails for select to eligo_finder
  using (true);
CREATE UNIQUE INDEX one_mail_of_a_kind_time_and_invoice ON billing.subscription_mails USING btree (account_id, test_mode, subscription_id, kind, about, COALESCE(invoice_id, ''::text));
CREATE UNIQUE INDEX one_mail_of_a_paid_invoice ON billing.subscription_mails USING btree (account_id, test_mode, invoice_id) WHERE (invoice_id IS NOT NULL);
CREATE INDEX subscription_mails_due ON billing.subscription_mails USING btree (next_try_at) WHERE (status = 'pending'::text);
CREATE INDEX subscription_mails_due_of_account ON billing.subscription_mails USING btree (account_id, test_mode, next_try_at) WHERE (status = 'pending'::text);
CREATE TRIGGER guard_subscription_mail BEFORE INSERT OR UPDATE ON billing.subscription_mails FOR EACH ROW EXECUTE FUNCTION guard_subscription_mail();
grant insert, select on subscription_mails to eligo_billing;
grant select on subscription_mails to eligo_finder;
grant update (status), update (tries), update (epoch), update (lease_until), update (next_try_at), update (failure_code), update (sent_at) on subscription_mails to eligo_billing;

create table subscriptions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  checkout_session_id text collate "C",
  test_clock_id text collate "C",
  status text collate "C" not null,
  anchor timestamp(3) with time zone not null,
  "interval" text collate "C" not null,
  interval_count integer not null,
  current_period_start timestamp(3) with time zone not null,
  current_period_end timestamp(3) with time zone not null,
  trial_start timestamp(3) with time zone,
  trial_end timestamp(3) with time zone,
  cancel_at_period_end boolean default false not null,
  cancel_at timestamp(3) with time zone,
  canceled_at timestamp(3) with time zone,
  latest_invoice_id text collate "C",
  default_payment_method_id text collate "C",
  backup_payment_method_id text collate "C",
  proration_behavior text collate "C",
  missing_payment_method text collate "C",
  discounts jsonb default '[]'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone not null,
  version bigint default 1 not null,
  payment_at timestamp(3) with time zone,
  notice_at timestamp(3) with time zone,
  held_until timestamp(3) with time zone,
  due_at timestamp(3) with time zone,
  work_at timestamp(3) with time zone,
  expires_at timestamp(3) with time zone,
  remind_at timestamp(3) with time zone,
  set_up_recorded_at timestamp(3) with time zone,
  trial_cut_short boolean default false not null,
  constraint subscriptions_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint subscriptions_account_id_test_mode_test_clock_id_fkey FOREIGN KEY (account_id, test_mode, test_clock_id) REFERENCES test_clocks(account_id, test_mode, id),
  constraint canceled_is_dated CHECK (((status = 'canceled'::text) = (canceled_at IS NOT NULL))),
  constraint expires_while_incomplete CHECK (((status = 'incomplete'::text) = (expires_at IS NOT NULL))) NOT VALID,
  constraint notice_of_a_trial CHECK (((notice_at IS NULL) OR (status = 'trialing'::text))) NOT VALID,
  constraint only_a_trial_is_cut_short CHECK (((NOT trial_cut_short) OR (trial_end IS NOT NULL))),
  constraint past_due_is_charged CHECK (((status <> 'past_due'::text) OR (payment_at IS NOT NULL))) NOT VALID,
  constraint period_has_a_length CHECK ((current_period_end > current_period_start)),
  constraint subscriptions_interval_check CHECK (("interval" = ANY (ARRAY['day'::text, 'week'::text, 'month'::text, 'year'::text]))),
  constraint subscriptions_interval_count_check CHECK ((interval_count >= 1)),
  constraint subscriptions_status_check CHECK ((status = ANY (ARRAY['incomplete'::text, 'incomplete_expired'::text, 'trialing'::text, 'active'::text, 'past_due'::text, 'canceled'::text, 'unpaid'::text, 'paused'::text]))),
  constraint trial_is_whole CHECK (((trial_start IS NULL) = (trial_end IS NULL)))
);
alter table subscriptions enable row level security;
alter table subscriptions force row level security;
create policy account_scope on subscriptions for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
create policy finder_claims on subscriptions for update to eligo_finder
  using (true)
  with check (true);
create policy finder_reads on subscriptions for select to eligo_finder
  using (true);
CREATE INDEX subscriptions_by_customer ON billing.subscriptions USING btree (account_id, test_mode, customer_id, id);
CREATE UNIQUE INDEX subscriptions_by_session ON billing.subscriptions USING btree (account_id, test_mode, checkout_session_id) WHERE (checkout_session_id IS NOT NULL);
CREATE INDEX subscriptions_by_status ON billing.subscriptions USING btree (account_id, test_mode, status, id);
CREATE INDEX subscriptions_by_work_time ON billing.subscriptions USING btree (work_at) WHERE (work_at IS NOT NULL);
CREATE INDEX subscriptions_ending_by_a_test_clock ON billing.subscriptions USING btree (account_id, test_mode, test_clock_id, LEAST(cancel_at,
CASE
    WHEN cancel_at_period_end THEN current_period_end
    ELSE NULL::timestamp with time zone
END)) WHERE ((status = ANY (ARRAY['trialing'::text, 'active'::text, 'past_due'::text, 'paused'::text, 'unpaid'::text])) AND ((cancel_at IS NOT NULL) OR cancel_at_period_end) AND (test_clock_id IS NOT NULL));
CREATE INDEX subscriptions_ending_by_the_wall_clock ON billing.subscriptions USING btree (LEAST(cancel_at,
CASE
    WHEN cancel_at_period_end THEN current_period_end
    ELSE NULL::timestamp with time zone
END)) WHERE ((status = ANY (ARRAY['trialing'::text, 'active'::text, 'past_due'::text, 'paused'::text, 'unpaid'::text])) AND ((cancel_at IS NOT NULL) OR cancel_at_period_end) AND (test_clock_id IS NULL));
CREATE INDEX subscriptions_held ON billing.subscriptions USING btree (held_until) WHERE ((held_until IS NOT NULL) AND (due_at IS NOT NULL));
CREATE INDEX subscriptions_of_account_by_work_time ON billing.subscriptions USING btree (account_id, test_mode, work_at) WHERE (work_at IS NOT NULL);
CREATE INDEX subscriptions_of_clock_by_due_time ON billing.subscriptions USING btree (account_id, test_mode, test_clock_id, due_at) WHERE ((test_clock_id IS NOT NULL) AND (due_at IS NOT NULL));
CREATE INDEX subscriptions_owing_by_backup ON billing.subscriptions USING btree (account_id, test_mode, backup_payment_method_id, id) WHERE (status = ANY (ARRAY['past_due'::text, 'unpaid'::text]));
CREATE INDEX subscriptions_owing_by_default ON billing.subscriptions USING btree (account_id, test_mode, default_payment_method_id, id) WHERE (status = ANY (ARRAY['past_due'::text, 'unpaid'::text]));
CREATE CONSTRAINT TRIGGER check_first_invoice AFTER INSERT ON billing.subscriptions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.latest_invoice_id IS NOT NULL)) EXECUTE FUNCTION check_latest_invoice();
CREATE CONSTRAINT TRIGGER check_latest_invoice AFTER UPDATE ON billing.subscriptions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.latest_invoice_id IS NOT NULL) AND (new.latest_invoice_id IS DISTINCT FROM old.latest_invoice_id))) EXECUTE FUNCTION check_latest_invoice();
CREATE TRIGGER guard_subscription BEFORE UPDATE ON billing.subscriptions FOR EACH ROW EXECUTE FUNCTION guard_subscription();
CREATE TRIGGER set_due BEFORE INSERT OR UPDATE ON billing.subscriptions FOR EACH ROW EXECUTE FUNCTION set_due();
grant insert, select, update on subscriptions to eligo_billing;
grant select on subscriptions to eligo_finder;
grant update (held_until) on subscriptions to eligo_finder;

create table subscriptions_awaiting_features (
  account_id text collate "C" not null,
  test_mode boolean not null,
  subscription_id text collate "C" not null,
  held_until timestamp(3) with time zone not null,
  constraint subscriptions_awaiting_features_pkey PRIMARY KEY (account_id, test_mode, subscription_id),
  constraint subscriptions_awaiting_featur_account_id_test_mode_subscri_fkey FOREIGN KEY (account_id, test_mode, subscription_id) REFERENCES subscriptions(account_id, test_mode, id)
);
alter table subscriptions_awaiting_features enable row level security;
alter table subscriptions_awaiting_features force row level security;
create policy account_scope on subscriptions_awaiting_features for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant delete, insert, select, update on subscriptions_awaiting_features to eligo_billing;

create table test_clocks (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  name text,
  frozen_time timestamp(3) with time zone not null,
  status text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  deleted_at timestamp(3) with time zone,
  constraint test_clocks_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint test_clocks_status_check CHECK ((status = ANY (ARRAY['ready'::text, 'advancing'::text]))),
  constraint test_clocks_test_mode_check CHECK (test_mode)
);
alter table test_clocks enable row level security;
alter table test_clocks force row level security;
create policy account_scope on test_clocks for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
create policy finder_reads on test_clocks for select to eligo_finder
  using (true);
CREATE INDEX test_clocks_left ON billing.test_clocks USING btree (account_id, test_mode, id) WHERE ((status = 'advancing'::text) AND (deleted_at IS NULL));
CREATE INDEX test_clocks_there ON billing.test_clocks USING btree (account_id, test_mode, id) WHERE (deleted_at IS NULL);
CREATE TRIGGER guard_test_clock BEFORE UPDATE ON billing.test_clocks FOR EACH ROW EXECUTE FUNCTION guard_test_clock();
grant insert, select, update on test_clocks to eligo_billing;
grant select on test_clocks to eligo_finder;

create table time_zones (
  account_id text collate "C" not null,
  test_mode boolean not null,
  time_zone text not null,
  version bigint not null,
  recorded_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint time_zones_pkey PRIMARY KEY (account_id, test_mode),
  constraint time_zones_time_zone_check CHECK ((time_zone <> ''::text)),
  constraint time_zones_version_check CHECK ((version > 0))
);
alter table time_zones enable row level security;
alter table time_zones force row level security;
create policy own_rows on time_zones for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER guard_time_zone BEFORE UPDATE ON billing.time_zones FOR EACH ROW EXECUTE FUNCTION guard_time_zone();
grant insert, select, update on time_zones to eligo_billing;

create table updated_cards (
  account_id text collate "C" not null,
  test_mode boolean not null,
  payment_method_id text collate "C" not null,
  updated_at timestamp(3) with time zone not null,
  constraint updated_cards_pkey PRIMARY KEY (account_id, test_mode, payment_method_id)
);
alter table updated_cards enable row level security;
alter table updated_cards force row level security;
create policy account_scope on updated_cards for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant delete, insert, select, update on updated_cards to eligo_billing;

CREATE OR REPLACE FUNCTION billing.advancing_clock_turns(after_account text, after_mode boolean, most integer)
 RETURNS TABLE(account_id text, test_mode boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  with recursive turns as (
    (select c.account_id, c.test_mode, 1 as turn from test_clocks c
      where c.status = 'advancing' and c.deleted_at is null and (c.account_id, c.test_mode) > (after_account collate "C", after_mode)
      order by c.account_id, c.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select c.account_id, c.test_mode from test_clocks c
       where c.status = 'advancing' and c.deleted_at is null and (c.account_id, c.test_mode) > (t.account_id, t.test_mode)
       order by c.account_id, c.test_mode limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode from turns t
$function$;
alter function advancing_clock_turns(after_account text, after_mode boolean, most integer) owner to eligo_finder;
grant execute on function advancing_clock_turns(after_account text, after_mode boolean, most integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.advancing_test_clocks(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  select c.account_id, c.test_mode, c.id from test_clocks c where c.status = 'advancing' and c.deleted_at is null order by c.id limit most
$function$;
alter function advancing_test_clocks(most integer) owner to eligo_finder;
grant execute on function advancing_test_clocks(most integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.check_carried_proration()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  perform check_proration(new.account_id, new.test_mode, new.proration_id);
  return null;
end $function$;
alter function check_carried_proration() owner to eligo_owner;
grant execute on function check_carried_proration() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.check_changed_proration()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  perform check_proration(new.account_id, new.test_mode, new.id);
  return null;
end $function$;
alter function check_changed_proration() owner to eligo_owner;
grant execute on function check_changed_proration() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.check_credits_of_void_invoice()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  perform check_proration(c.account_id, c.test_mode, c.proration_id) from invoice_credits c
   where c.account_id = new.account_id and c.test_mode = new.test_mode and c.invoice_id = new.id;
  return null;
end $function$;
alter function check_credits_of_void_invoice() owner to eligo_owner;
grant execute on function check_credits_of_void_invoice() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.check_invoice_lines()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
declare
  line_total numeric;
  line_eligible numeric;
  credit_total numeric;
  credit_eligible numeric;
  invoice record;
begin
  select coalesce(sum(total_cents), 0), coalesce(sum(eligible_cents), 0) into line_total, line_eligible from invoice_lines
   where account_id = new.account_id and test_mode = new.test_mode and invoice_id = new.invoice_id;
  select coalesce(sum(amount_cents), 0), coalesce(sum(amount_cents) filter (where eligible), 0) into credit_total, credit_eligible from invoice_credits
   where account_id = new.account_id and test_mode = new.test_mode and invoice_id = new.invoice_id;
  select total_cents, eligible_cents into invoice from invoices
   where account_id = new.account_id and test_mode = new.test_mode and id = new.invoice_id;
  if invoice.total_cents <> line_total - credit_total or invoice.eligible_cents <> line_eligible - credit_eligible then
    raise exception 'the lines of an invoice sum to it' using errcode = 'check_violation', constraint = 'invoice_is_the_sum_of_its_lines';
  end if;
  return null;
end $function$;
alter function check_invoice_lines() owner to eligo_owner;
grant execute on function check_invoice_lines() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.check_invoice_paid(account text, mode boolean, invoice text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  if (select i.amount_paid_cents from invoices i where i.account_id = account and i.test_mode = mode and i.id = invoice and i.checkout_session_id is null)
       is distinct from (select coalesce(sum(c.amount_cents), 0) from invoice_charges c
                          where c.account_id = account and c.test_mode = mode and c.invoice_id = invoice and c.status = 'succeeded') then
    raise exception 'an invoice is paid by its charges' using errcode = 'check_violation', constraint = 'invoice_is_paid_by_its_charges';
  end if;
end $function$;
alter function check_invoice_paid(account text, mode boolean, invoice text) owner to eligo_owner;
grant execute on function check_invoice_paid(account text, mode boolean, invoice text) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.check_latest_invoice()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  if not exists (select from invoices i where i.account_id = new.account_id and i.test_mode = new.test_mode and i.id = new.latest_invoice_id
                    and i.subscription_id = new.id) then
    raise exception 'the latest invoice of a subscription is its own' using errcode = 'check_violation', constraint = 'latest_invoice_is_its_own';
  end if;
  return null;
end $function$;
alter function check_latest_invoice() owner to eligo_owner;
grant execute on function check_latest_invoice() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.check_paid_invoice()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  perform check_invoice_paid(new.account_id, new.test_mode, new.id);
  return null;
end $function$;
alter function check_paid_invoice() owner to eligo_owner;
grant execute on function check_paid_invoice() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.check_proration(account text, mode boolean, proration text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
declare
  known record;
  carried numeric;
begin
  select kind, subscription_id, eligible, amount_cents, left_cents, lapsed_cents into known from prorations p
   where p.account_id = account and p.test_mode = mode and p.id = proration;
  if not found then
    raise exception 'a line is of a proration' using errcode = 'check_violation', constraint = 'proration_is_carried_once';
  end if;
  if known.kind = 'credit' then
    select coalesce(sum(c.amount_cents), 0) into carried from invoice_credits c
     where c.account_id = account and c.test_mode = mode and c.proration_id = proration and c.eligible = known.eligible
       and (select i.subscription_id = known.subscription_id and i.status <> 'void' from invoices i
             where i.account_id = account and i.test_mode = mode and i.id = c.invoice_id);
  else
    select coalesce(sum(l.total_cents), 0) into carried from invoice_lines l
     where l.account_id = account and l.test_mode = mode and l.proration_id = proration and (l.eligible_cents > 0) = known.eligible
       and (select i.subscription_id = known.subscription_id from invoices i
             where i.account_id = account and i.test_mode = mode and i.id = l.invoice_id);
  end if;
  if carried <> known.amount_cents - known.left_cents - known.lapsed_cents then
    raise exception 'invoices carry a proration once' using errcode = 'check_violation', constraint = 'proration_is_carried_once';
  end if;
end $function$;
alter function check_proration(account text, mode boolean, proration text) owner to eligo_owner;
grant execute on function check_proration(account text, mode boolean, proration text) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.check_succeeded_charge()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  perform check_invoice_paid(new.account_id, new.test_mode, new.invoice_id);
  return null;
end $function$;
alter function check_succeeded_charge() owner to eligo_owner;
grant execute on function check_succeeded_charge() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.claim_due_of_each_account(at timestamp with time zone, until timestamp with time zone, accounts integer, each integer, after_account text, after_mode boolean)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
declare
  taken text;
  is_any boolean;
begin
  account_id := after_account;
  test_mode := after_mode;
  for step in 1..accounts loop
    select s.account_id, s.test_mode into account_id, test_mode from subscriptions s
     where s.work_at is not null and (s.account_id, s.test_mode) > (claim_due_of_each_account.account_id, claim_due_of_each_account.test_mode)
     order by s.account_id, s.test_mode limit 1;
    exit when not found;
    is_any := false;
    for taken in
      with due as materialized (
        select s.account_id, s.test_mode, s.id from subscriptions s
         where s.account_id = claim_due_of_each_account.account_id and s.test_mode = claim_due_of_each_account.test_mode and s.work_at <= at
         order by s.work_at limit each for no key update skip locked
      )
      update subscriptions s set held_until = until from due d
       where s.account_id = d.account_id and s.test_mode = d.test_mode and s.id = d.id
      returning s.id
    loop
      is_any := true;
      id := taken;
      return next;
    end loop;
    if not is_any then
      id := null;
      return next;
    end if;
  end loop;
end $function$;
alter function claim_due_of_each_account(at timestamp with time zone, until timestamp with time zone, accounts integer, each integer, after_account text, after_mode boolean) owner to eligo_finder;
grant execute on function claim_due_of_each_account(at timestamp with time zone, until timestamp with time zone, accounts integer, each integer, after_account text, after_mode boolean) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.claim_due_subscriptions(at timestamp with time zone, until timestamp with time zone, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text, work_at timestamp with time zone)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  with due as materialized (
    select s.account_id, s.test_mode, s.id, s.work_at from subscriptions s
     where s.work_at <= at order by s.work_at limit most for no key update skip locked
  )
  update subscriptions s set held_until = until from due d
   where s.account_id = d.account_id and s.test_mode = d.test_mode and s.id = d.id
  returning s.account_id, s.test_mode, s.id, d.work_at
$function$;
alter function claim_due_subscriptions(at timestamp with time zone, until timestamp with time zone, most integer) owner to eligo_finder;
grant execute on function claim_due_subscriptions(at timestamp with time zone, until timestamp with time zone, most integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.clear_scheduled_payment()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.scheduled_payment_at := null;
  return new;
end $function$;
alter function clear_scheduled_payment() owner to eligo_owner;
grant execute on function clear_scheduled_payment() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.clocks_of_due_subscriptions(at timestamp with time zone, most integer, after_account text, after_mode boolean, after_clock text)
 RETURNS TABLE(account_id text, test_mode boolean, id text, due_until timestamp with time zone, is_due boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  with recursive clock as (
    (select s.account_id, s.test_mode, s.test_clock_id, s.due_at from subscriptions s
      where s.test_clock_id is not null and s.due_at is not null
        and (s.account_id, s.test_mode, s.test_clock_id) > (after_account, after_mode, after_clock)
      order by s.account_id, s.test_mode, s.test_clock_id, s.due_at limit 1)
    union all
    select n.account_id, n.test_mode, n.test_clock_id, n.due_at
      from clock c
      cross join lateral (
        select s.account_id, s.test_mode, s.test_clock_id, s.due_at from subscriptions s
         where s.test_clock_id is not null and s.due_at is not null
           and (s.account_id, s.test_mode, s.test_clock_id) > (c.account_id, c.test_mode, c.test_clock_id)
         order by s.account_id, s.test_mode, s.test_clock_id, s.due_at limit 1
      ) n
  )
  select c.account_id, c.test_mode, c.test_clock_id, t.time, c.due_at <= t.time
    from (select * from clock limit most) c
    cross join lateral (
      select case when k.deleted_at is null then k.frozen_time else at end as time from test_clocks k
       where k.account_id = c.account_id and k.test_mode = c.test_mode and k.id = c.test_clock_id offset 0
    ) t
$function$;
alter function clocks_of_due_subscriptions(at timestamp with time zone, most integer, after_account text, after_mode boolean, after_clock text) owner to eligo_finder;
grant execute on function clocks_of_due_subscriptions(at timestamp with time zone, most integer, after_account text, after_mode boolean, after_clock text) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.clocks_that_end_subscriptions(at timestamp with time zone, most integer, after_account text, after_mode boolean, after_clock text)
 RETURNS TABLE(account_id text, test_mode boolean, id text, ends_until timestamp with time zone, is_due boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  with recursive clock as (
    (select s.account_id, s.test_mode, s.test_clock_id, least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) as ends_at
       from subscriptions s
      where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
        and s.test_clock_id is not null
        and (s.account_id, s.test_mode, s.test_clock_id) > (after_account, after_mode, after_clock)
      order by s.account_id, s.test_mode, s.test_clock_id, least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) limit 1)
    union all
    select n.account_id, n.test_mode, n.test_clock_id, n.ends_at
      from clock c
      cross join lateral (
        select s.account_id, s.test_mode, s.test_clock_id, least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) as ends_at
          from subscriptions s
         where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
           and s.test_clock_id is not null
           and (s.account_id, s.test_mode, s.test_clock_id) > (c.account_id, c.test_mode, c.test_clock_id)
         order by s.account_id, s.test_mode, s.test_clock_id, least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) limit 1
      ) n
  )
  select c.account_id, c.test_mode, c.test_clock_id, t.time, c.ends_at <= t.time
    from (select * from clock limit most) c
    cross join lateral (
      select case when k.deleted_at is null then k.frozen_time else at end as time from test_clocks k
       where k.account_id = c.account_id and k.test_mode = c.test_mode and k.id = c.test_clock_id offset 0
    ) t
$function$;
alter function clocks_that_end_subscriptions(at timestamp with time zone, most integer, after_account text, after_mode boolean, after_clock text) owner to eligo_finder;
grant execute on function clocks_that_end_subscriptions(at timestamp with time zone, most integer, after_account text, after_mode boolean, after_clock text) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.due_cancellations(at timestamp with time zone, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  select due.account_id, due.test_mode, due.id from (
    (select s.account_id, s.test_mode, s.id, least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) as ends_at
       from subscriptions s
      where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
        and s.test_clock_id is null
        and least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) <= at
      order by ends_at limit most)
    union all
    (select s.account_id, s.test_mode, s.id, least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end)
       from subscriptions s
       join test_clocks c on c.account_id = s.account_id and c.test_mode = s.test_mode and c.id = s.test_clock_id
      where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
        and s.test_clock_id is not null
        and least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) <= case when c.deleted_at is null then c.frozen_time else at end
      limit most)
  ) due
  order by due.ends_at limit most
$function$;
alter function due_cancellations(at timestamp with time zone, most integer) owner to eligo_finder;
grant execute on function due_cancellations(at timestamp with time zone, most integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.due_catalog_tasks(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, discount_id text, subscription_id text, kind text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  select t.account_id, t.test_mode, t.discount_id, t.subscription_id, t.kind from catalog_tasks t
   where t.due_at <= now() order by t.due_at limit most
$function$;
alter function due_catalog_tasks(most integer) owner to eligo_finder;
grant execute on function due_catalog_tasks(most integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.due_notice_mails(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  select m.account_id, m.test_mode, m.id from notice_mails m
   where m.status = 'pending' and m.next_try_at <= now() order by m.next_try_at limit most
$function$;
alter function due_notice_mails(most integer) owner to eligo_finder;
grant execute on function due_notice_mails(most integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.due_receipt_mails(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  select m.account_id, m.test_mode, m.id from receipt_mails m
   where m.status = 'pending' and m.next_try_at <= now() order by m.next_try_at limit most
$function$;
alter function due_receipt_mails(most integer) owner to eligo_finder;
grant execute on function due_receipt_mails(most integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.ending_by_the_wall_clock(at timestamp with time zone, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  select s.account_id, s.test_mode, s.id from subscriptions s
   where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
     and s.test_clock_id is null
     and least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) <= at
   order by least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) limit most
$function$;
alter function ending_by_the_wall_clock(at timestamp with time zone, most integer) owner to eligo_finder;
grant execute on function ending_by_the_wall_clock(at timestamp with time zone, most integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.follow_published_mark()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  begin
    if new.published_at is null then
      insert into "billing".outbox_queue (event_id) values (new.event_id) on conflict do nothing;
      return null;
    end if;
    delete from "billing".outbox_queue where event_id = new.event_id;
    insert into "billing".outbox_positions as p (minute, last_seq, oldest_event_id, oldest_new_event_id)
      values (date_trunc('minute', clock_timestamp()), new.stream_seq, new.event_id, new.event_id)
      on conflict (minute) do update set last_seq = greatest(p.last_seq, excluded.last_seq), ended_at = excluded.ended_at,
        oldest_event_id = least(p.oldest_event_id, excluded.oldest_event_id),
        oldest_new_event_id = least(p.oldest_new_event_id, excluded.oldest_new_event_id);
    return null;
  end
  $function$;
alter function follow_published_mark() owner to eligo_owner;
grant execute on function follow_published_mark() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.free_false_holds(at timestamp with time zone, longest interval, most integer)
 RETURNS integer
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  with held as materialized (
    select s.account_id, s.test_mode, s.id from subscriptions s
     where s.held_until > at + longest and s.held_until < timestamptz '9999-01-01 00:00:00+00' and s.due_at is not null
     order by s.held_until limit most for no key update skip locked
  ), freed as (
    update subscriptions s set held_until = null from held h
     where s.account_id = h.account_id and s.test_mode = h.test_mode and s.id = h.id
    returning 1
  )
  select count(*)::integer from freed
$function$;
alter function free_false_holds(at timestamp with time zone, longest interval, most integer) owner to eligo_finder;
grant execute on function free_false_holds(at timestamp with time zone, longest interval, most integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_account_features()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  if new.version <= old.version then
    raise exception 'features % of account % are not newer than %', new.version, new.account_id, old.version
      using errcode = 'check_violation', constraint = 'account_features_ascend';
  end if;
  return new;
end $function$;
alter function guard_account_features() owner to eligo_owner;
grant execute on function guard_account_features() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_idempotency_key()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text := case
    when not (octet_length(new.key) between 1 and 255) then 'idempotency_keys_key_check'
    when not (octet_length(new.request_hash) = 32) then 'idempotency_keys_request_hash_check'
    when not (new.state in ('in_progress', 'finished')) then 'idempotency_keys_state_check'
    when not (new.status between 200 and 599) then 'idempotency_keys_status_check'
    when not ((new.state = 'finished') = (new.status is not null) and (new.state = 'finished') = (new.body is not null))
      then 'finished_has_answer'
  end;
begin
  if broken is not null then
    raise exception 'an idempotency key violates %', broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_idempotency_key() owner to eligo_owner;
grant execute on function guard_idempotency_key() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_invoice()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.status <> old.status and (old.status, new.status) not in (
    ('draft', 'open'), ('draft', 'void'),
    ('open', 'paid'), ('open', 'void'), ('open', 'uncollectible'),
    ('uncollectible', 'paid'), ('uncollectible', 'void')
  ) then
    raise exception 'an invoice does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'invoice_state_table';
  end if;
  if old.status <> 'draft' and (new.total_cents, new.eligible_cents, new.customer_id, new.period_start, new.period_end)
       is distinct from (old.total_cents, old.eligible_cents, old.customer_id, old.period_start, old.period_end)
     or new.subscription_id is distinct from old.subscription_id or (old.number is not null and new.number is distinct from old.number) then
    raise exception 'an invoice is final' using errcode = 'check_violation', constraint = 'invoice_is_final';
  end if;
  if new.amount_paid_cents < old.amount_paid_cents then
    raise exception 'what was paid on an invoice stays paid' using errcode = 'check_violation', constraint = 'invoice_stays_paid';
  end if;
  return new;
end $function$;
alter function guard_invoice() owner to eligo_owner;
grant execute on function guard_invoice() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_invoice_charge()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
declare
  invoice record;
  taken numeric;
begin
  if tg_op = 'UPDATE' then
    if old.status <> 'pending'
       or (new.status = 'pending'
           and (new.card_updated, new.awaits_new_card) is not distinct from (old.card_updated, old.awaits_new_card))
       or (old.card_updated and not new.card_updated) or (old.awaits_new_card and not new.awaits_new_card) then
      raise exception 'a charge does not move from % to %', old.status, new.status
        using errcode = 'check_violation', constraint = 'invoice_charge_state_table';
    end if;
    if (new.invoice_id, new.leg, new.amount_cents, new.payment_method_id, new.acting_at)
         is distinct from (old.invoice_id, old.leg, old.amount_cents, old.payment_method_id, old.acting_at) then
      raise exception 'a charge is what was asked for' using errcode = 'check_violation', constraint = 'invoice_charge_is_final';
    end if;
    return new;
  end if;
  select total_cents, eligible_cents into invoice from invoices
   where account_id = new.account_id and test_mode = new.test_mode and id = new.invoice_id for update;
  select coalesce(sum(amount_cents), 0) into taken from invoice_charges
   where account_id = new.account_id and test_mode = new.test_mode and invoice_id = new.invoice_id and status in ('pending', 'succeeded');
  if taken + new.amount_cents > invoice.total_cents then
    raise exception 'the charges of an invoice do not exceed its total' using errcode = 'check_violation', constraint = 'charges_within_invoice';
  end if;
  if new.leg = 'health' and new.amount_cents > invoice.eligible_cents then
    raise exception 'a health card pays what is eligible' using errcode = 'check_violation', constraint = 'health_charge_within_eligible';
  end if;
  return new;
end $function$;
alter function guard_invoice_charge() owner to eligo_owner;
grant execute on function guard_invoice_charge() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_invoice_time_zone()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  raise exception 'the time zone of invoice % stays', old.id using errcode = 'check_violation', constraint = 'invoice_time_zone_stays';
end $function$;
alter function guard_invoice_time_zone() owner to eligo_owner;
grant execute on function guard_invoice_time_zone() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_notice_mail()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  if tg_op = 'UPDATE' then
    if old.status <> 'pending' then
      raise exception 'mail % is %', old.id, old.status using errcode = 'check_violation', constraint = 'mails_end_once';
    end if;
    if old.asks_to_confirm and new.status = 'dropped' and new.failure_code = 'turned_off'
       and now() < coalesce(old.written_at, old.created_at) + interval '30 minutes' then
      new.status := 'pending';
      new.next_try_at := now() + interval '1 minute';
      new.tries := greatest(old.tries - 1, 0);
    end if;
    return new;
  end if;
  if not exists (select 1 from invoices where account_id = new.account_id and test_mode = new.test_mode and id = new.invoice_id
                   and status = 'open' and attempts = new.attempt) then
    raise exception 'a notice is of the last attempt of an open invoice'
      using errcode = 'check_violation', constraint = 'notice_of_an_open_invoice';
  end if;
  return new;
end $function$;
alter function guard_notice_mail() owner to eligo_owner;
grant execute on function guard_notice_mail() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_places()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  declare
    taken bigint;
  begin
    select p.last_seq into taken from "billing".outbox_positions p order by p.minute desc limit 1;
    if new.first_seq <= taken then
      raise exception 'place % of the stream is taken, up to %', new.first_seq, taken
        using errcode = 'unique_violation', constraint = 'places_ascend';
    end if;
    return new;
  end
  $function$;
alter function guard_places() owner to eligo_owner;
grant execute on function guard_places() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_proration()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  moving constant text[] := array['left_cents', 'unpaid_invoice_id', 'lapsed_cents'];
begin
  if to_jsonb(new) - moving is distinct from to_jsonb(old) - moving or new.lapsed_cents < old.lapsed_cents
    or (old.unpaid_invoice_id is not null and new.unpaid_invoice_id is distinct from old.unpaid_invoice_id) then
    raise exception 'a proration is final' using errcode = 'check_violation', constraint = 'proration_is_final';
  end if;
  return new;
end $function$;
alter function guard_proration() owner to eligo_owner;
grant execute on function guard_proration() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_receipt()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.email = 'erased@invalid' and new.html is null and new.content = jsonb_set(old.content, '{shopperName}', 'null') then
    return new;
  end if;
  if old.html is not null then
    raise exception 'the documents of receipt % exist', old.id using errcode = 'check_violation', constraint = 'documents_never_change';
  end if;
  return new;
end $function$;
alter function guard_receipt() owner to eligo_owner;
grant execute on function guard_receipt() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_receipt_mail()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.status <> 'pending' then
    raise exception 'mail % is %', old.id, old.status using errcode = 'check_violation', constraint = 'mails_end_once';
  end if;
  return new;
end $function$;
alter function guard_receipt_mail() owner to eligo_owner;
grant execute on function guard_receipt_mail() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_refused_health_card()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  if not exists (select from backup_agreements where account_id = new.account_id and test_mode = new.test_mode) then
    raise exception 'the other card pays what the health card refused only where that is agreed'
      using errcode = 'check_violation', constraint = 'backup_is_agreed';
  end if;
  return new;
end $function$;
alter function guard_refused_health_card() owner to eligo_owner;
grant execute on function guard_refused_health_card() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_shop_name()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  if new.version <= old.version then
    raise exception 'name % of account % is not newer than %', new.version, new.account_id, old.version
      using errcode = 'check_violation', constraint = 'shop_names_ascend';
  end if;
  return new;
end $function$;
alter function guard_shop_name() owner to eligo_owner;
grant execute on function guard_shop_name() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_subscription()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.status <> old.status and (old.status, new.status) not in (
    ('incomplete', 'active'), ('incomplete', 'incomplete_expired'), ('incomplete', 'canceled'),
    ('trialing', 'active'), ('trialing', 'paused'), ('trialing', 'canceled'),
    ('active', 'past_due'), ('active', 'paused'), ('active', 'canceled'),
    ('past_due', 'active'), ('past_due', 'unpaid'), ('past_due', 'canceled'),
    ('unpaid', 'active'), ('unpaid', 'canceled'),
    ('paused', 'active'), ('paused', 'canceled')
  ) then
    raise exception 'a subscription does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'subscription_state_table';
  end if;
  return new;
end $function$;
alter function guard_subscription() owner to eligo_owner;
grant execute on function guard_subscription() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_subscription_mail()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  if tg_op = 'UPDATE' then
    if old.status <> 'pending' then
      raise exception 'mail % is %', old.id, old.status using errcode = 'check_violation', constraint = 'mails_end_once';
    end if;
    return new;
  end if;
  if new.kind = 'paid' then
    if not exists (select 1 from invoices i where i.account_id = new.account_id and i.test_mode = new.test_mode and i.id = new.invoice_id
        and i.subscription_id = new.subscription_id and i.status = 'paid' and i.paid_at = new.about) then
      raise exception 'a mail is about what its invoice is' using errcode = 'check_violation', constraint = 'mail_of_what_is';
    end if;
    return new;
  end if;
  if not exists (select 1 from subscriptions s where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.subscription_id
      and case new.kind when 'ended' then s.status = 'canceled' and s.canceled_at = new.about
            else s.status = case new.kind when 'trial_end' then 'trialing' else 'active' end and s.current_period_end = new.about end) then
    raise exception 'a mail is about what its subscription is' using errcode = 'check_violation', constraint = 'mail_of_what_is';
  end if;
  return new;
end $function$;
alter function guard_subscription_mail() owner to eligo_owner;
grant execute on function guard_subscription_mail() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_test_clock()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.frozen_time < old.frozen_time then
    raise exception 'a test clock does not go back' using errcode = 'check_violation', constraint = 'test_clock_goes_forward';
  end if;
  return new;
end $function$;
alter function guard_test_clock() owner to eligo_owner;
grant execute on function guard_test_clock() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.guard_time_zone()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  if new.version <= old.version then
    raise exception 'time zone % of account % is not newer than %', new.version, new.account_id, old.version
      using errcode = 'check_violation', constraint = 'time_zones_ascend';
  end if;
  return new;
end $function$;
alter function guard_time_zone() owner to eligo_owner;
grant execute on function guard_time_zone() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.next_cancellation(after timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  select least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) as ends_at
    from subscriptions s
   where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
     and s.test_clock_id is null
     and least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) > after
   order by ends_at limit 1
$function$;
alter function next_cancellation(after timestamp with time zone) owner to eligo_finder;
grant execute on function next_cancellation(after timestamp with time zone) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.next_catalog_task()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  select t.due_at from catalog_tasks t order by t.due_at limit 1
$function$;
alter function next_catalog_task() owner to eligo_finder;
grant execute on function next_catalog_task() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.next_due_subscription(after timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  select s.work_at from subscriptions s where s.work_at > after order by s.work_at limit 1
$function$;
alter function next_due_subscription(after timestamp with time zone) owner to eligo_finder;
grant execute on function next_due_subscription(after timestamp with time zone) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.next_notice_mail()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  select m.next_try_at from notice_mails m where m.status = 'pending' order by m.next_try_at limit 1
$function$;
alter function next_notice_mail() owner to eligo_finder;
grant execute on function next_notice_mail() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.next_receipt_mail()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  select m.next_try_at from receipt_mails m where m.status = 'pending' order by m.next_try_at limit 1
$function$;
alter function next_receipt_mail() owner to eligo_finder;
grant execute on function next_receipt_mail() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.next_subscription_mail()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  select m.next_try_at from subscription_mails m where m.status = 'pending' order by m.next_try_at limit 1
$function$;
alter function next_subscription_mail() owner to eligo_finder;
grant execute on function next_subscription_mail() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.note_card_update()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'billing', 'pg_temp'
AS $function$
begin
  insert into updated_cards (account_id, test_mode, payment_method_id, updated_at)
    select distinct new.account_id, new.test_mode, c.was, clock_timestamp()
      from (values (old.refused_payment_method_id, new.refused_payment_method_id),
                   (old.refused_backup_payment_method_id, new.refused_backup_payment_method_id)) as c (was, is_now)
     where c.was is not null and c.is_now is null
    -- Unless a process of this release has just noted it, by its own clock.
    on conflict (account_id, test_mode, payment_method_id) do update set updated_at = excluded.updated_at
      where updated_cards.xmin <> pg_current_xact_id()::xid;
  return null;
end $function$;
alter function note_card_update() owner to eligo_owner;
grant execute on function note_card_update() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.notice_mail_turns(after_account text, after_mode boolean, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, is_due boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  with recursive turns as (
    (select m.account_id, m.test_mode, m.next_try_at, 1 as turn from notice_mails m
      where m.status = 'pending' and (m.account_id, m.test_mode) > (after_account collate "C", after_mode)
      order by m.account_id, m.test_mode, m.next_try_at limit 1)
    union all
    select n.account_id, n.test_mode, n.next_try_at, t.turn + 1 from turns t cross join lateral (
      select m.account_id, m.test_mode, m.next_try_at from notice_mails m
       where m.status = 'pending' and (m.account_id, m.test_mode) > (t.account_id, t.test_mode)
       order by m.account_id, m.test_mode, m.next_try_at limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, t.next_try_at <= now() from turns t
$function$;
alter function notice_mail_turns(after_account text, after_mode boolean, most integer) owner to eligo_finder;
grant execute on function notice_mail_turns(after_account text, after_mode boolean, most integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.prune_events(outbox_days integer, inbox_days integer, batch integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
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
grant execute on function prune_events(outbox_days integer, inbox_days integer, batch integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.prune_idempotency_keys(batch integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
    with old as (
      select account_id, test_mode, endpoint, key from idempotency_keys
      where (state = 'finished' or (attempt_id is null and lease_until < now())) and created_at < now() - interval '30 days'
      order by created_at limit batch
    ), gone as (
      delete from idempotency_keys k using old
      where (k.account_id, k.test_mode, k.endpoint, k.key) = (old.account_id, old.test_mode, old.endpoint, old.key)
      returning 1
    )
    select count(*) from gone
  $function$;
alter function prune_idempotency_keys(batch integer) owner to eligo_finder;
grant execute on function prune_idempotency_keys(batch integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.queue_event()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  begin
    insert into "billing".outbox_queue (event_id) select event_id from appended;
    return null;
  end
  $function$;
alter function queue_event() owner to eligo_owner;
grant execute on function queue_event() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.receipt_mail_turns(after_account text, after_mode boolean, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, is_due boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  with recursive turns as (
    (select m.account_id, m.test_mode, m.next_try_at, 1 as turn from receipt_mails m
      where m.status = 'pending' and (m.account_id, m.test_mode) > (after_account collate "C", after_mode)
      order by m.account_id, m.test_mode, m.next_try_at limit 1)
    union all
    select n.account_id, n.test_mode, n.next_try_at, t.turn + 1 from turns t cross join lateral (
      select m.account_id, m.test_mode, m.next_try_at from receipt_mails m
       where m.status = 'pending' and (m.account_id, m.test_mode) > (t.account_id, t.test_mode)
       order by m.account_id, m.test_mode, m.next_try_at limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, t.next_try_at <= now() from turns t
$function$;
alter function receipt_mail_turns(after_account text, after_mode boolean, most integer) owner to eligo_finder;
grant execute on function receipt_mail_turns(after_account text, after_mode boolean, most integer) to eligo_billing;

CREATE OR REPLACE FUNCTION billing.refuse_changed_history()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the audit log of operators is append-only'
    using errcode = 'check_violation', constraint = 'operator_actions_append_only';
end $function$;
alter function refuse_changed_history() owner to eligo_owner;
grant execute on function refuse_changed_history() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.set_due()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  days integer;
begin
  if not (new.status = 'trialing' or new.interval = 'year' or (new.interval = 'month' and new.interval_count >= 12)
      or (new.interval = 'week' and new.interval_count >= 52) or (new.interval = 'day' and new.interval_count >= 365))
      -- A trial that is ended now is not announced by an event either.
      or (tg_op = 'UPDATE' and new.status = 'trialing' and new.notice_at is null and new.current_period_end <> old.current_period_end) then
    new.remind_at := null;
  elsif tg_op = 'INSERT' or new.current_period_end <> old.current_period_end then
    select reminder_days into days from billing.notice_settings where account_id = new.account_id and test_mode = new.test_mode;
    new.remind_at := greatest(new.current_period_start, new.current_period_end - coalesce(days, 7) * interval '24 hours');
  end if;
  new.due_at := case
    when new.status in ('incomplete', 'trialing', 'active', 'past_due', 'unpaid', 'paused') then least(
      new.cancel_at,
      case when new.cancel_at_period_end then new.current_period_end end,
      case when new.status in ('trialing', 'active') and new.payment_at is null then least(new.current_period_end, new.remind_at) end,
      new.payment_at, new.notice_at, new.expires_at)
    when new.status = 'canceled' then new.payment_at end;
  new.work_at := case when new.test_clock_id is null and new.due_at is not null then greatest(new.due_at, new.held_until) end;
  return new;
end $function$;
alter function set_due() owner to eligo_owner;
grant execute on function set_due() to eligo_billing;

CREATE OR REPLACE FUNCTION billing.subscription_mail_turns(after_account text, after_mode boolean, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, is_due boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'billing', 'pg_temp'
AS $function$
  with recursive turns as (
    (select m.account_id, m.test_mode, m.next_try_at, 1 as turn from subscription_mails m
      where m.status = 'pending' and (m.account_id, m.test_mode) > (after_account collate "C", after_mode)
      order by m.account_id, m.test_mode, m.next_try_at limit 1)
    union all
    select n.account_id, n.test_mode, n.next_try_at, t.turn + 1 from turns t cross join lateral (
      select m.account_id, m.test_mode, m.next_try_at from subscription_mails m
       where m.status = 'pending' and (m.account_id, m.test_mode) > (t.account_id, t.test_mode)
       order by m.account_id, m.test_mode, m.next_try_at limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, t.next_try_at <= now() from turns t
$function$;
alter function subscription_mail_turns(after_account text, after_mode boolean, most integer) owner to eligo_finder;
grant execute on function subscription_mail_turns(after_account text, after_mode boolean, most integer) to eligo_billing;

alter default privileges in schema billing grant delete, insert, select, update on tables to eligo_billing;

alter default privileges in schema billing grant execute on functions to eligo_billing;

alter default privileges in schema billing grant usage on sequences to eligo_billing;
