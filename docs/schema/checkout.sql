-- Schema checkout, as its migrations leave it.

grant create, usage on schema checkout to eligo_finder;

grant usage on schema checkout to eligo_checkout;

create type card_kind as enum ('health', 'other', 'unknown');

create type hold_end as enum ('lapsed', 'lost', 'not_renewed');

create type processor as enum ('sandbox', 'stripe');

create type three_d_secure as enum ('automatic', 'any', 'challenge');

create table authentications (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  attempt_id text collate "C" not null,
  requested_at timestamp(3) with time zone not null,
  constraint authentications_pkey PRIMARY KEY (account_id, test_mode, session_id, attempt_id),
  constraint authentications_account_id_test_mode_attempt_id_fkey FOREIGN KEY (account_id, test_mode, attempt_id) REFERENCES charge_attempts(account_id, test_mode, id)
);
alter table authentications enable row level security;
alter table authentications force row level security;
create policy own_rows on authentications for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select on authentications to eligo_checkout;

create table capture_lines (
  account_id text collate "C" not null,
  test_mode boolean not null,
  capture_id text collate "C" not null,
  line_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  amount_cents bigint not null,
  constraint capture_lines_pkey PRIMARY KEY (account_id, test_mode, capture_id, line_id, payment_intent_id),
  constraint capture_lines_account_id_test_mode_capture_id_fkey FOREIGN KEY (account_id, test_mode, capture_id) REFERENCES captures(account_id, test_mode, id)
);
alter table capture_lines enable row level security;
alter table capture_lines force row level security;
create policy own_rows on capture_lines for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER guard_capture_line BEFORE INSERT ON checkout.capture_lines FOR EACH ROW EXECUTE FUNCTION guard_capture_line();
grant delete, insert, select on capture_lines to eligo_checkout;

create table captures (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  session_id text collate "C" not null,
  cause text collate "C" not null,
  status text collate "C" not null,
  amount_cents bigint not null,
  tax_cents bigint not null,
  shipping_cents bigint not null,
  discount_cents bigint not null,
  final boolean not null,
  metadata jsonb default '{}'::jsonb not null,
  failure_code text,
  created_at timestamp(3) with time zone not null,
  constraint captures_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint captures_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id)
);
alter table captures enable row level security;
alter table captures force row level security;
create policy own_rows on captures for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX captures_by_session ON checkout.captures USING btree (account_id, test_mode, session_id, id DESC);
CREATE UNIQUE INDEX captures_one_pending ON checkout.captures USING btree (account_id, test_mode, session_id) WHERE (status = 'pending'::text);
CREATE INDEX captures_succeeded ON checkout.captures USING btree (account_id, test_mode, id DESC) WHERE (status = 'succeeded'::text);
CREATE CONSTRAINT TRIGGER check_capture_sums AFTER INSERT ON checkout.captures DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_capture_sums();
CREATE TRIGGER guard_capture BEFORE INSERT OR UPDATE ON checkout.captures FOR EACH ROW EXECUTE FUNCTION guard_capture();
grant delete, insert, select, update on captures to eligo_checkout;

create table catalog_tasks (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  kind text collate "C" not null,
  due_at timestamp(3) with time zone not null,
  tries integer default 0 not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint catalog_tasks_pkey PRIMARY KEY (account_id, test_mode, session_id, kind),
  constraint catalog_tasks_kind_check CHECK ((kind = ANY (ARRAY['finalize'::text, 'release'::text, 'release_unless_written'::text, 'activate'::text])))
);
alter table catalog_tasks enable row level security;
alter table catalog_tasks force row level security;
create policy finder_reads on catalog_tasks for select to eligo_finder
  using (true);
create policy own_rows on catalog_tasks for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX catalog_tasks_due ON checkout.catalog_tasks USING btree (due_at);
grant delete, insert, select, update on catalog_tasks to eligo_checkout;
grant select on catalog_tasks to eligo_finder;

create table charge_attempts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  purpose text not null,
  subject_id text collate "C" not null,
  leg text not null,
  driver text not null,
  eligibility_record_id text collate "C",
  payment_intent_id text collate "C" not null,
  customer_id text collate "C",
  payment_method_id text collate "C" not null,
  processor_payment_method_id text not null,
  processor_customer_id text,
  off_session boolean not null,
  capture_method text not null,
  amount_cents bigint not null,
  status text not null,
  epoch integer default 1 not null,
  lease_until timestamp with time zone not null,
  sends integer default 0 not null,
  sent_at timestamp with time zone,
  next_check_at timestamp with time zone default now() not null,
  checks integer default 0 not null,
  processor_intent_id text,
  failure_code text,
  decline_code text,
  iias_cents bigint default 0 not null,
  prescription_cents bigint default 0 not null,
  vision_cents bigint default 0 not null,
  service_cents bigint default 0 not null,
  expand text[] default '{}'::text[] not null,
  acting_at timestamp(3) with time zone not null,
  created_at timestamp with time zone default now() not null,
  confirm_until timestamp with time zone default (now() + '00:03:00'::interval) not null,
  operation_id text collate "C",
  card_kind card_kind,
  processor processor,
  processor_account text collate "C",
  three_d_secure three_d_secure,
  accepts_part boolean default false not null,
  asked_cents bigint,
  authenticate_until timestamp with time zone,
  constraint charge_attempts_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint charge_attempts_account_id_test_mode_payment_intent_id_fkey FOREIGN KEY (account_id, test_mode, payment_intent_id) REFERENCES payment_intents(account_id, test_mode, id),
  constraint charge_attempts_awaits_its_customer CHECK (((authenticate_until IS NULL) OR ((purpose = 'invoice'::text) AND (NOT off_session) AND (processor_intent_id IS NOT NULL) AND (authenticate_until <= (created_at + '24:00:00'::interval)))))
);
alter table charge_attempts enable row level security;
alter table charge_attempts force row level security;
create policy finder on charge_attempts for select to eligo_finder
  using (true);
create policy finder_wakes on charge_attempts for update to eligo_finder
  using (true)
  with check (true);
create policy own_rows on charge_attempts for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX charge_attempts_by_intent ON checkout.charge_attempts USING btree (account_id, test_mode, payment_intent_id);
CREATE INDEX charge_attempts_by_operation ON checkout.charge_attempts USING btree (account_id, test_mode, operation_id, created_at DESC) WHERE (operation_id IS NOT NULL);
CREATE UNIQUE INDEX charge_attempts_by_processor_intent ON checkout.charge_attempts USING btree (account_id, test_mode, processor_intent_id) WHERE (processor_intent_id IS NOT NULL);
CREATE INDEX charge_attempts_in_doubt ON checkout.charge_attempts USING btree (status, GREATEST(created_at, authenticate_until)) WHERE (status = ANY (ARRAY['sending'::text, 'unknown'::text]));
CREATE UNIQUE INDEX charge_attempts_one_live ON checkout.charge_attempts USING btree (account_id, test_mode, purpose, subject_id, leg) WHERE (status = ANY (ARRAY['created'::text, 'sending'::text, 'unknown'::text, 'succeeded'::text]));
CREATE UNIQUE INDEX charge_attempts_one_per_eligibility_record ON checkout.charge_attempts USING btree (account_id, test_mode, eligibility_record_id) WHERE ((status = ANY (ARRAY['created'::text, 'sending'::text, 'unknown'::text, 'succeeded'::text])) AND (eligibility_record_id IS NOT NULL));
CREATE INDEX charge_attempts_to_sweep ON checkout.charge_attempts USING btree (status, next_check_at) WHERE ((status = ANY (ARRAY['created'::text, 'sending'::text, 'unknown'::text])) AND ((status <> 'created'::text) OR (driver <> 'invoice'::text)));
CREATE INDEX charge_attempts_to_sweep_by_account ON checkout.charge_attempts USING btree (account_id, test_mode, status, next_check_at) WHERE ((status = ANY (ARRAY['created'::text, 'sending'::text, 'unknown'::text])) AND ((status <> 'created'::text) OR (driver <> 'invoice'::text)));
CREATE INDEX charge_attempts_without_processor ON checkout.charge_attempts USING btree (account_id, test_mode, id) WHERE (processor IS NULL);
CREATE TRIGGER guard_approved_part BEFORE UPDATE OF accepts_part, amount_cents, asked_cents ON checkout.charge_attempts FOR EACH ROW EXECUTE FUNCTION guard_approved_part();
CREATE TRIGGER guard_attempt_account BEFORE INSERT OR UPDATE OF processor, processor_account ON checkout.charge_attempts FOR EACH ROW EXECUTE FUNCTION guard_attempt_account();
CREATE TRIGGER guard_charge_attempt BEFORE INSERT OR UPDATE ON checkout.charge_attempts FOR EACH ROW EXECUTE FUNCTION guard_charge_attempt();
CREATE TRIGGER guard_health_card_charge BEFORE INSERT ON checkout.charge_attempts FOR EACH ROW WHEN (((new.purpose = 'invoice'::text) AND (new.leg = 'health'::text) AND (NOT new.test_mode) AND (new.card_kind IS DISTINCT FROM 'other'::card_kind))) EXECUTE FUNCTION guard_health_card_charge();
CREATE TRIGGER guard_health_card_renewal BEFORE INSERT ON checkout.charge_attempts FOR EACH ROW WHEN (((new.purpose = 'renewal'::text) AND (new.leg = 'health'::text) AND (NOT new.test_mode) AND (new.card_kind IS DISTINCT FROM 'other'::card_kind))) EXECUTE FUNCTION guard_health_card_renewal();
CREATE TRIGGER guard_ineligible_charge BEFORE INSERT ON checkout.charge_attempts FOR EACH ROW WHEN ((new.leg = 'other'::text)) EXECUTE FUNCTION guard_ineligible_charge();
CREATE TRIGGER refuse_new_part BEFORE INSERT ON checkout.charge_attempts FOR EACH ROW WHEN ((new.accepts_part OR (new.asked_cents IS NOT NULL))) EXECUTE FUNCTION refuse_new_part();
grant delete, insert, select, update on charge_attempts to eligo_checkout;
grant select on charge_attempts to eligo_finder;
grant update (next_check_at) on charge_attempts to eligo_finder;

create table charges (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  payment_method_id text collate "C",
  status text not null,
  amount_cents bigint not null,
  amount_captured_cents bigint default 0 not null,
  amount_refunded_cents bigint default 0 not null,
  failure_code text,
  decline_code text,
  processor_charge_id text,
  balance_transaction_id text collate "C",
  disputed boolean default false not null,
  created_at timestamp(3) with time zone not null,
  constraint charges_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint charges_account_id_test_mode_payment_intent_id_fkey FOREIGN KEY (account_id, test_mode, payment_intent_id) REFERENCES payment_intents(account_id, test_mode, id)
);
alter table charges enable row level security;
alter table charges force row level security;
create policy own_rows on charges for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX charges_by_payment_intent ON checkout.charges USING btree (account_id, test_mode, payment_intent_id, id DESC);
CREATE UNIQUE INDEX charges_by_processor ON checkout.charges USING btree (account_id, test_mode, processor_charge_id) WHERE ((processor_charge_id IS NOT NULL) AND (status <> 'failed'::text));
CREATE TRIGGER guard_charge BEFORE INSERT OR UPDATE ON checkout.charges FOR EACH ROW EXECUTE FUNCTION guard_charge();
grant delete, insert, select, update on charges to eligo_checkout;

create table customers (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  first_name text,
  last_name text,
  email text,
  phone text,
  employer text,
  shipping jsonb,
  metadata jsonb default '{}'::jsonb not null,
  test_clock_id text collate "C",
  created_at timestamp(3) with time zone not null,
  updated_at timestamp(3) with time zone not null,
  deleted_at timestamp(3) with time zone,
  processor_customer_id text collate "C",
  version bigint default 1 not null,
  processor processor,
  processor_account text collate "C",
  constraint customers_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint customers_account_id_test_mode_test_clock_id_fkey FOREIGN KEY (account_id, test_mode, test_clock_id) REFERENCES test_clocks(account_id, test_mode, id)
);
alter table customers enable row level security;
alter table customers force row level security;
create policy finder_reads on customers for select to eligo_finder
  using (true);
create policy own_rows on customers for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX customers_by_email ON checkout.customers USING btree (account_id, test_mode, email, id) WHERE (deleted_at IS NULL);
CREATE INDEX customers_there ON checkout.customers USING btree (account_id, test_mode, id) WHERE (deleted_at IS NULL);
CREATE INDEX customers_without_processor ON checkout.customers USING btree (account_id, test_mode, id) WHERE ((processor IS NULL) AND (processor_customer_id IS NOT NULL));
CREATE TRIGGER guard_processor_account BEFORE INSERT OR UPDATE OF processor, processor_account ON checkout.customers FOR EACH ROW EXECUTE FUNCTION guard_processor_account();
grant delete, insert, select, update on customers to eligo_checkout;
grant select on customers to eligo_finder;

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
CREATE INDEX dead_letters_by_event ON checkout.dead_letters USING btree (event_id, consumer);
CREATE INDEX dead_letters_redrive ON checkout.dead_letters USING btree (consumer, redrive_at) WHERE (redrive_at IS NOT NULL);
grant delete, insert, select, update on dead_letters to eligo_checkout;

create table disputes (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  charge_id text collate "C" not null,
  session_id text collate "C",
  amount_cents bigint not null,
  held_cents bigint not null,
  seq bigint not null,
  constraint disputes_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint disputes_account_id_test_mode_payment_intent_id_fkey FOREIGN KEY (account_id, test_mode, payment_intent_id) REFERENCES payment_intents(account_id, test_mode, id),
  constraint disputes_amount_cents_check CHECK ((amount_cents >= 0)),
  constraint disputes_check CHECK (((held_cents >= 0) AND (held_cents <= amount_cents))),
  constraint disputes_seq_check CHECK ((seq > 0))
);
alter table disputes enable row level security;
alter table disputes force row level security;
create policy own_rows on disputes for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX disputes_by_intent ON checkout.disputes USING btree (account_id, test_mode, payment_intent_id);
CREATE INDEX disputes_by_session ON checkout.disputes USING btree (account_id, test_mode, session_id) WHERE (session_id IS NOT NULL);
grant insert, select, update on disputes to eligo_checkout;

create table eligibility_records (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  session_id text collate "C" not null,
  eligible_cents bigint not null,
  food_policy boolean not null,
  policy_version text collate "C",
  charged_attempt_id text collate "C",
  created_at timestamp(3) with time zone not null,
  constraint eligibility_records_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint eligibility_records_account_id_test_mode_session_id_key UNIQUE (account_id, test_mode, session_id),
  constraint eligibility_records_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint eligibility_records_eligible_cents_check CHECK ((eligible_cents >= 0)),
  constraint policy_has_a_version CHECK (((NOT food_policy) OR (policy_version IS NOT NULL)))
);
alter table eligibility_records enable row level security;
alter table eligibility_records force row level security;
create policy own_rows on eligibility_records for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER check_written_with_session AFTER INSERT ON checkout.eligibility_records REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION check_written_with_session();
CREATE TRIGGER guard_eligibility_record BEFORE UPDATE OF eligible_cents ON checkout.eligibility_records FOR EACH ROW WHEN ((old.eligible_cents IS DISTINCT FROM new.eligible_cents)) EXECUTE FUNCTION guard_eligibility_record();
CREATE TRIGGER refuse_delete BEFORE DELETE ON checkout.eligibility_records FOR EACH ROW EXECUTE FUNCTION refuse_delete();
grant delete, insert, select, update on eligibility_records to eligo_checkout;

create table erasures (
  account_id text collate "C" not null,
  test_mode boolean not null,
  customer_id text collate "C" not null,
  number bigint not null,
  requested_by text not null,
  started_at timestamp(3) with time zone default now() not null,
  finished_at timestamp(3) with time zone,
  constraint erasures_pkey PRIMARY KEY (account_id, test_mode, customer_id, number),
  constraint erasures_account_id_test_mode_customer_id_fkey FOREIGN KEY (account_id, test_mode, customer_id) REFERENCES customers(account_id, test_mode, id),
  constraint erasures_requested_by_check CHECK ((requested_by <> ''::text))
);
alter table erasures enable row level security;
alter table erasures force row level security;
create policy own_rows on erasures for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant select on erasures to eligo_checkout;

create table guest_erasures (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  number bigint not null,
  requested_by text not null,
  started_at timestamp(3) with time zone default now() not null,
  finished_at timestamp(3) with time zone,
  constraint guest_erasures_pkey PRIMARY KEY (account_id, test_mode, session_id, number),
  constraint guest_erasures_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint guest_erasures_requested_by_check CHECK ((requested_by <> ''::text))
);
alter table guest_erasures enable row level security;
alter table guest_erasures force row level security;
create policy own_rows on guest_erasures for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX guest_erasures_unfinished ON checkout.guest_erasures USING btree (account_id, test_mode, session_id) WHERE (finished_at IS NULL);
grant select on guest_erasures to eligo_checkout;

create table health_card_statements (
  account_id text collate "C" not null,
  test_mode boolean not null,
  substantiation text,
  version bigint not null,
  recorded_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint health_card_statements_pkey PRIMARY KEY (account_id, test_mode),
  constraint health_card_statements_of_live_mode CHECK ((NOT test_mode)),
  constraint health_card_statements_substantiation_check CHECK ((substantiation <> ''::text)),
  constraint health_card_statements_version_check CHECK ((version > 0))
);
alter table health_card_statements enable row level security;
alter table health_card_statements force row level security;
create policy own_rows on health_card_statements for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER guard_health_card_statement BEFORE UPDATE ON checkout.health_card_statements FOR EACH ROW EXECUTE FUNCTION guard_health_card_statement();
grant insert, select, update on health_card_statements to eligo_checkout;

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
create policy scope on idempotency_keys for all to eligo_checkout
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX idempotency_keys_attempt ON checkout.idempotency_keys USING btree (account_id, test_mode, attempt_id) WHERE (attempt_id IS NOT NULL);
CREATE INDEX idempotency_keys_created ON checkout.idempotency_keys USING btree (created_at);
CREATE TRIGGER guard_idempotency_key BEFORE INSERT OR UPDATE ON checkout.idempotency_keys FOR EACH ROW EXECUTE FUNCTION guard_idempotency_key();
grant delete, insert, select, update on idempotency_keys to eligo_checkout;
grant delete, select on idempotency_keys to eligo_finder;

create table inbox (
  consumer text collate "C" not null,
  event_id text collate "C" not null,
  handled_at timestamp(3) with time zone default now() not null,
  constraint inbox_pkey PRIMARY KEY (consumer, event_id)
);
grant delete, select on inbox to eligo_finder;
grant insert, select on inbox to eligo_checkout;

create table intent_operations (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  attempt_id text collate "C" not null,
  processor_intent_id text not null,
  kind text not null,
  amount_cents bigint not null,
  status text not null,
  epoch integer default 1 not null,
  lease_until timestamp with time zone default now() not null,
  next_check_at timestamp with time zone default now() not null,
  checks integer default 0 not null,
  failure_code text,
  acting_at timestamp(3) with time zone not null,
  created_at timestamp with time zone default now() not null,
  capture_id text collate "C",
  ends_hold boolean default true not null,
  received_before_cents bigint default 0 not null,
  tries integer default 0 not null,
  refunded_cents bigint default 0 not null,
  constraint intent_operations_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint intent_operations_account_id_test_mode_payment_intent_id_fkey FOREIGN KEY (account_id, test_mode, payment_intent_id) REFERENCES payment_intents(account_id, test_mode, id),
  constraint intent_operations_amount_cents_check CHECK ((amount_cents > 0)),
  constraint intent_operations_kind_check CHECK ((kind = ANY (ARRAY['capture'::text, 'cancel'::text]))),
  constraint intent_operations_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'pending'::text, 'done'::text, 'failed'::text]))),
  constraint refunded_within_capture CHECK (((refunded_cents >= 0) AND (refunded_cents <= amount_cents) AND ((refunded_cents = 0) OR ((kind = 'capture'::text) AND (status = 'done'::text)))))
);
alter table intent_operations enable row level security;
alter table intent_operations force row level security;
create policy finder on intent_operations for select to eligo_finder
  using (true);
create policy finder_wakes on intent_operations for update to eligo_finder
  using (true)
  with check (true);
create policy own_rows on intent_operations for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX intent_operations_by_capture ON checkout.intent_operations USING btree (account_id, test_mode, capture_id) WHERE (capture_id IS NOT NULL);
CREATE UNIQUE INDEX intent_operations_one_end ON checkout.intent_operations USING btree (account_id, test_mode, payment_intent_id) WHERE ((status = ANY (ARRAY['pending'::text, 'done'::text])) AND ends_hold);
CREATE UNIQUE INDEX intent_operations_one_pending ON checkout.intent_operations USING btree (account_id, test_mode, payment_intent_id) WHERE (status = 'pending'::text);
CREATE INDEX intent_operations_unsettled ON checkout.intent_operations USING btree (next_check_at) WHERE (status = 'pending'::text);
CREATE INDEX intent_operations_unsettled_by_account ON checkout.intent_operations USING btree (account_id, test_mode, next_check_at) WHERE (status = 'pending'::text);
CREATE TRIGGER guard_capture_has_letters BEFORE INSERT ON checkout.intent_operations FOR EACH ROW WHEN ((new.kind = 'capture'::text)) EXECUTE FUNCTION guard_capture_has_letters();
CREATE TRIGGER guard_captured_hold BEFORE INSERT ON checkout.intent_operations FOR EACH ROW WHEN ((new.kind = 'capture'::text)) EXECUTE FUNCTION guard_captured_hold();
CREATE TRIGGER guard_ended BEFORE UPDATE OF status ON checkout.intent_operations FOR EACH ROW WHEN (((old.status = ANY (ARRAY['done'::text, 'failed'::text])) AND (new.status <> old.status))) EXECUTE FUNCTION guard_ended();
CREATE TRIGGER guard_intent_operation BEFORE INSERT ON checkout.intent_operations FOR EACH ROW EXECUTE FUNCTION guard_intent_operation();
grant delete, insert, select, update on intent_operations to eligo_checkout;
grant select on intent_operations to eligo_finder;
grant update (next_check_at) on intent_operations to eligo_finder;

create table issuer_ranges (
  digits int4range not null,
  hsa_fsa boolean not null,
  constraint issuer_ranges_pkey PRIMARY KEY (digits),
  constraint issuer_ranges_are_whole CHECK (((NOT isempty(digits)) AND (lower(digits) >= 0) AND (upper(digits) <= 100000000) AND lower_inc(digits) AND (NOT upper_inc(digits)))),
  constraint issuer_ranges_do_not_overlap EXCLUDE USING gist (digits WITH &&)
);
grant delete, insert, select, update on issuer_ranges to eligo_checkout;

create table ledger_entries (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  debit_account text not null,
  credit_account text not null,
  amount_cents bigint not null,
  kind text not null,
  payment_intent_id text collate "C" not null,
  source_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  tell_at timestamp(3) with time zone default clock_timestamp(),
  constraint ledger_entries_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint ledger_entries_amount_cents_check CHECK ((amount_cents > 0)),
  constraint ledger_entries_check CHECK ((credit_account <> debit_account)),
  constraint ledger_entries_kind_check CHECK ((kind = ANY (ARRAY['capture'::text, 'refund_reserved'::text, 'refund_released'::text])))
);
alter table ledger_entries enable row level security;
alter table ledger_entries force row level security;
create policy finder on ledger_entries for select to eligo_finder
  using (true);
create policy own_rows on ledger_entries for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX ledger_entries_by_intent ON checkout.ledger_entries USING btree (account_id, test_mode, payment_intent_id);
CREATE UNIQUE INDEX ledger_entries_once ON checkout.ledger_entries USING btree (account_id, test_mode, source_id, payment_intent_id, kind);
CREATE INDEX ledger_entries_to_tell ON checkout.ledger_entries USING btree (tell_at) WHERE ((tell_at IS NOT NULL) AND (kind = 'capture'::text));
CREATE INDEX ledger_entries_to_tell_of_account ON checkout.ledger_entries USING btree (account_id, test_mode, tell_at) WHERE ((tell_at IS NOT NULL) AND (kind = 'capture'::text));
grant insert, select on ledger_entries to eligo_checkout;
grant select on ledger_entries to eligo_finder;
grant update (tell_at) on ledger_entries to eligo_checkout;

create table letter_answers (
  account_id text collate "C" not null,
  test_mode boolean not null,
  letter_id text collate "C" not null,
  sealed text not null,
  submitted_at timestamp(3) with time zone not null,
  constraint letter_answers_pkey PRIMARY KEY (account_id, test_mode, letter_id),
  constraint letter_answers_account_id_test_mode_letter_id_fkey FOREIGN KEY (account_id, test_mode, letter_id) REFERENCES letters(account_id, test_mode, id)
);
alter table letter_answers enable row level security;
alter table letter_answers force row level security;
create policy own_rows on letter_answers for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER guard_letter_answers BEFORE INSERT ON checkout.letter_answers FOR EACH ROW EXECUTE FUNCTION guard_letter_answers();
grant insert, select on letter_answers to eligo_checkout;

create table letter_reads (
  account_id text collate "C" not null,
  test_mode boolean not null,
  letter_id text collate "C" not null,
  number bigint not null,
  reviewer_id text collate "C" not null,
  request_id text not null,
  read_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint letter_reads_pkey PRIMARY KEY (account_id, test_mode, letter_id, number),
  constraint letter_reads_account_id_test_mode_letter_id_fkey FOREIGN KEY (account_id, test_mode, letter_id) REFERENCES letters(account_id, test_mode, id),
  constraint letter_reads_reviewer_id_fkey FOREIGN KEY (reviewer_id) REFERENCES reviewers(id)
);
alter table letter_reads enable row level security;
alter table letter_reads force row level security;
create policy own_rows on letter_reads for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select on letter_reads to eligo_checkout;

create table letters (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  session_id text collate "C" not null,
  product_id text collate "C" not null,
  customer_id text collate "C",
  test_clock_id text collate "C",
  status text collate "C" not null,
  url text,
  review_until timestamp(3) with time zone not null,
  valid_until timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null,
  decided_at timestamp(3) with time zone,
  reviewer_id text collate "C",
  reviewer_name text,
  reviewer_license text,
  reviewer_state text,
  end_announced_at timestamp(3) with time zone,
  constraint letters_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint letters_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint letters_decided_once_ended CHECK (((status = 'in_review'::text) = (decided_at IS NULL))),
  constraint letters_status_check CHECK ((status = ANY (ARRAY['in_review'::text, 'approved'::text, 'denied'::text, 'expired'::text]))),
  constraint letters_valid_once_approved CHECK (((status = 'approved'::text) = (valid_until IS NOT NULL)))
);
alter table letters enable row level security;
alter table letters force row level security;
create policy finder on letters for select to eligo_finder
  using (true);
create policy own_rows on letters for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX letters_by_customer ON checkout.letters USING btree (account_id, test_mode, customer_id, id) WHERE (customer_id IS NOT NULL);
CREATE INDEX letters_by_id ON checkout.letters USING hash (id);
CREATE INDEX letters_by_status ON checkout.letters USING btree (account_id, test_mode, status, id);
CREATE INDEX letters_due ON checkout.letters USING btree (review_until) WHERE ((status = 'in_review'::text) AND (test_clock_id IS NULL));
CREATE INDEX letters_due_by_clock ON checkout.letters USING btree (account_id, test_mode, test_clock_id, review_until) WHERE ((status = 'in_review'::text) AND (test_clock_id IS NOT NULL));
CREATE UNIQUE INDEX letters_one_per_product ON checkout.letters USING btree (account_id, test_mode, session_id, product_id);
CREATE INDEX letters_queue ON checkout.letters USING btree (test_mode, review_until, id) WHERE (status = 'in_review'::text);
CREATE INDEX letters_to_announce ON checkout.letters USING btree (valid_until) WHERE ((status = 'approved'::text) AND (end_announced_at IS NULL) AND (customer_id IS NOT NULL) AND (test_clock_id IS NULL));
CREATE INDEX letters_to_announce_by_clock ON checkout.letters USING btree (account_id, test_mode, test_clock_id, valid_until) WHERE ((status = 'approved'::text) AND (end_announced_at IS NULL) AND (customer_id IS NOT NULL) AND (test_clock_id IS NOT NULL));
CREATE INDEX letters_valid ON checkout.letters USING btree (account_id, test_mode, customer_id, product_id, valid_until) WHERE (status = 'approved'::text);
CREATE TRIGGER guard_letter BEFORE UPDATE ON checkout.letters FOR EACH ROW EXECUTE FUNCTION guard_letter();
CREATE TRIGGER leave_deleted_clock BEFORE INSERT ON checkout.letters FOR EACH ROW WHEN ((new.test_clock_id IS NOT NULL)) EXECUTE FUNCTION leave_deleted_clock();
grant insert, select, update on letters to eligo_checkout;
grant select on letters to eligo_finder;

create table line_tenders (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  line_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  amount_cents bigint not null,
  captured_cents bigint default 0 not null,
  refunded_cents bigint default 0 not null,
  constraint line_tenders_pkey PRIMARY KEY (account_id, test_mode, session_id, line_id, payment_intent_id),
  constraint line_tenders_account_id_test_mode_line_id_fkey FOREIGN KEY (account_id, test_mode, line_id) REFERENCES session_lines(account_id, test_mode, id),
  constraint line_tenders_account_id_test_mode_payment_intent_id_fkey FOREIGN KEY (account_id, test_mode, payment_intent_id) REFERENCES payment_intents(account_id, test_mode, id),
  constraint tender_within_its_amount CHECK (((amount_cents > 0) AND ((captured_cents >= 0) AND (captured_cents <= amount_cents)) AND ((refunded_cents >= 0) AND (refunded_cents <= captured_cents))))
);
alter table line_tenders enable row level security;
alter table line_tenders force row level security;
create policy own_rows on line_tenders for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE CONSTRAINT TRIGGER check_line_tender AFTER INSERT OR UPDATE ON checkout.line_tenders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_line_tender();
CREATE TRIGGER guard_line_tender BEFORE INSERT ON checkout.line_tenders FOR EACH ROW EXECUTE FUNCTION guard_line_tender();
CREATE TRIGGER guard_tender_card BEFORE UPDATE OF payment_intent_id ON checkout.line_tenders FOR EACH ROW WHEN ((new.payment_intent_id <> old.payment_intent_id)) EXECUTE FUNCTION guard_tender_card();
grant insert, select on line_tenders to eligo_checkout;
grant update (payment_intent_id), update (captured_cents), update (refunded_cents) on line_tenders to eligo_checkout;

create table migrations (
  id text collate "C" not null,
  checksum text not null,
  applied_at timestamp(3) with time zone default now() not null,
  constraint migrations_pkey PRIMARY KEY (id)
);
grant select on migrations to eligo_checkout;

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
CREATE INDEX operator_actions_by_account ON checkout.operator_actions USING btree (account_id, number) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_by_account_and_operator ON checkout.operator_actions USING btree (account_id, operator_name, number) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_by_operator ON checkout.operator_actions USING btree (operator_name, number);
CREATE UNIQUE INDEX operator_proof_once ON checkout.operator_actions USING btree (proof_id) WHERE (proof_id IS NOT NULL);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON checkout.operator_actions FOR EACH ROW EXECUTE FUNCTION refuse_changed_history();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON checkout.operator_actions FOR EACH STATEMENT EXECUTE FUNCTION refuse_changed_history();
grant insert (operator_id), insert (operator_name), insert (login_id), insert (action), insert (account_id), insert (test_mode), insert (subject_id), insert (request_id), insert (refused), insert (proof_id) on operator_actions to eligo_checkout;
grant select on operator_actions to eligo_checkout;

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
CREATE TRIGGER follow_published_mark AFTER UPDATE OF published_at ON checkout.outbox FOR EACH ROW WHEN ((new.published_at IS DISTINCT FROM old.published_at)) EXECUTE FUNCTION follow_published_mark();
CREATE TRIGGER queue_event AFTER INSERT ON checkout.outbox REFERENCING NEW TABLE AS appended FOR EACH STATEMENT EXECUTE FUNCTION queue_event();
grant delete, select on outbox to eligo_finder;
grant insert, select on outbox to eligo_checkout;
grant update (payload) on outbox to eligo_finder;
grant update (published_at), update (stream_seq) on outbox to eligo_checkout;

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
CREATE TRIGGER places_ascend BEFORE INSERT ON checkout.outbox_positions FOR EACH ROW EXECUTE FUNCTION guard_places();
grant delete, insert, select, update on outbox_positions to eligo_checkout;
grant delete, select on outbox_positions to eligo_finder;

create table outbox_pruned (
  only_row boolean default true not null,
  aggregate_seq bigint not null,
  event_id text collate "C" not null,
  constraint outbox_pruned_pkey PRIMARY KEY (only_row),
  constraint outbox_pruned_only_row_check CHECK (only_row)
);
grant select on outbox_pruned to eligo_checkout;
grant select, update on outbox_pruned to eligo_finder;

create table outbox_queue (
  event_id text collate "C" not null,
  queued_again_at timestamp(3) with time zone,
  constraint outbox_queue_pkey PRIMARY KEY (event_id)
);
grant delete, insert, select on outbox_queue to eligo_checkout;
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
grant insert, select on outbox_repairs to eligo_checkout;
grant select on outbox_repairs to eligo_finder;
grant update (events), update (after_event_id), update (finished_at) on outbox_repairs to eligo_checkout;

create table outbox_stream (
  stream text collate "C" not null,
  created text not null,
  constraint outbox_stream_pkey PRIMARY KEY (stream)
);
grant delete, insert, select, update on outbox_stream to eligo_checkout;

create table page_cards (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor_payment_method_id text collate "C" not null,
  session_id text collate "C",
  payment_method_id text collate "C" not null,
  invoice_id text collate "C",
  customer_id text collate "C",
  constraint page_cards_pkey PRIMARY KEY (account_id, test_mode, processor_payment_method_id),
  constraint page_card_of_customer FOREIGN KEY (account_id, test_mode, customer_id) REFERENCES customers(account_id, test_mode, id),
  constraint page_cards_account_id_test_mode_payment_method_id_fkey FOREIGN KEY (account_id, test_mode, payment_method_id) REFERENCES payment_methods(account_id, test_mode, id) DEFERRABLE INITIALLY DEFERRED,
  constraint page_cards_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint page_card_of_customers_invoice CHECK (((customer_id IS NULL) OR (invoice_id IS NOT NULL))),
  constraint page_card_of_one_page CHECK ((num_nonnulls(session_id, invoice_id) = 1)),
  constraint page_cards_processor_payment_method_id_check CHECK (((length(processor_payment_method_id) >= 4) AND (length(processor_payment_method_id) <= 255)))
);
alter table page_cards enable row level security;
alter table page_cards force row level security;
create policy own_rows on page_cards for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX page_cards_by_customer ON checkout.page_cards USING btree (account_id, test_mode, customer_id, payment_method_id) WHERE (customer_id IS NOT NULL);
CREATE INDEX page_cards_by_session ON checkout.page_cards USING btree (account_id, test_mode, session_id) WHERE (session_id IS NOT NULL);
CREATE TRIGGER guard_typed_card BEFORE INSERT ON checkout.page_cards FOR EACH ROW WHEN ((new.session_id IS NOT NULL)) EXECUTE FUNCTION guard_typed_card();
grant insert, select on page_cards to eligo_checkout;

create table page_visits (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  seen_at timestamp(3) with time zone not null,
  constraint page_visits_pkey PRIMARY KEY (account_id, test_mode, session_id),
  constraint page_visits_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id)
);
alter table page_visits enable row level security;
alter table page_visits force row level security;
create policy own_rows on page_visits for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select, update on page_visits to eligo_checkout;

create table payment_intents (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  session_id text collate "C",
  invoice_id text collate "C",
  subscription_id text collate "C",
  customer_id text collate "C",
  payment_method_id text collate "C",
  leg text not null,
  capture_method text not null,
  status text not null,
  amount_cents bigint not null,
  amount_capturable_cents bigint default 0 not null,
  amount_received_cents bigint default 0 not null,
  amount_refunded_cents bigint default 0 not null,
  processor_intent_id text,
  latest_charge_id text collate "C",
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone not null,
  processor processor,
  processor_account text collate "C",
  amount_disputed_cents bigint default 0 not null,
  capture_before timestamp(3) with time zone,
  hold_check_at timestamp(3) with time zone default '1970-01-01 00:00:00+00'::timestamp with time zone not null,
  hold_end hold_end,
  renews text collate "C",
  renewals smallint default 0 not null,
  keeps_card boolean default false not null,
  captured_elsewhere_cents bigint,
  lapse_announced_at timestamp(3) with time zone,
  constraint payment_intents_pkey PRIMARY KEY (account_id, test_mode, id)
);
alter table payment_intents enable row level security;
alter table payment_intents force row level security;
create policy finder_reads on payment_intents for select to eligo_finder
  using (true);
create policy own_rows on payment_intents for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX payment_intents_by_customer ON checkout.payment_intents USING btree (account_id, test_mode, customer_id, id DESC) WHERE (customer_id IS NOT NULL);
CREATE INDEX payment_intents_by_session ON checkout.payment_intents USING btree (account_id, test_mode, session_id, id DESC) WHERE (session_id IS NOT NULL);
CREATE INDEX payment_intents_captured_elsewhere ON checkout.payment_intents USING btree (hold_check_at) WHERE ((status = 'requires_capture'::text) AND (captured_elsewhere_cents IS NOT NULL));
CREATE INDEX payment_intents_held ON checkout.payment_intents USING btree (account_id, test_mode, hold_check_at) WHERE (status = 'requires_capture'::text);
CREATE INDEX payment_intents_hold_due ON checkout.payment_intents USING btree (hold_check_at) WHERE (status = 'requires_capture'::text);
CREATE INDEX payment_intents_without_processor ON checkout.payment_intents USING btree (account_id, test_mode, id) WHERE (processor IS NULL);
CREATE TRIGGER guard_intent_amount BEFORE UPDATE OF amount_cents ON checkout.payment_intents FOR EACH ROW WHEN ((new.amount_cents <> old.amount_cents)) EXECUTE FUNCTION guard_intent_amount();
CREATE TRIGGER guard_payment_intent BEFORE INSERT OR UPDATE ON checkout.payment_intents FOR EACH ROW EXECUTE FUNCTION guard_payment_intent();
CREATE TRIGGER guard_processor_account BEFORE INSERT OR UPDATE OF processor, processor_account ON checkout.payment_intents FOR EACH ROW EXECUTE FUNCTION guard_processor_account();
CREATE TRIGGER refuse_capture_before BEFORE UPDATE OF capture_before ON checkout.payment_intents FOR EACH ROW WHEN (((new.capture_before IS NOT NULL) AND (new.capture_method <> 'manual'::text))) EXECUTE FUNCTION refuse_capture_before();
CREATE TRIGGER refuse_disputed_refund BEFORE UPDATE ON checkout.payment_intents FOR EACH ROW WHEN (((new.amount_refunded_cents > old.amount_refunded_cents) AND ((new.amount_refunded_cents + new.amount_disputed_cents) > new.amount_received_cents))) EXECUTE FUNCTION refuse_disputed_refund();
grant delete, insert, select, update on payment_intents to eligo_checkout;
grant select on payment_intents to eligo_finder;

create table payment_links (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  active boolean not null,
  mode text collate "C" not null,
  terms jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone not null,
  constraint payment_links_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint payment_link_has_lines CHECK (((jsonb_array_length((terms -> 'lines'::text)) >= 1) AND (jsonb_array_length((terms -> 'lines'::text)) <= 100))),
  constraint payment_links_mode_check CHECK ((mode = ANY (ARRAY['payment'::text, 'subscription'::text])))
);
alter table payment_links enable row level security;
alter table payment_links force row level security;
create policy account_scope on payment_links for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX payment_links_by_active ON checkout.payment_links USING btree (account_id, test_mode, active, id);
grant insert, select on payment_links to eligo_checkout;
grant update (active), update (metadata) on payment_links to eligo_checkout;

create table payment_locks (
  account_id text collate "C" not null,
  test_mode boolean not null,
  kind text not null,
  id text collate "C" not null,
  attempt_id text collate "C" not null,
  lease_until timestamp with time zone not null,
  constraint payment_locks_pkey PRIMARY KEY (account_id, test_mode, kind, id),
  constraint payment_locks_kind_check CHECK ((kind = ANY (ARRAY['customer'::text, 'payment_method'::text])))
);
alter table payment_locks enable row level security;
alter table payment_locks force row level security;
create policy own_rows on payment_locks for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX payment_locks_by_attempt ON checkout.payment_locks USING btree (account_id, test_mode, attempt_id);
grant delete, insert, select, update on payment_locks to eligo_checkout;

create table payment_methods (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  customer_id text collate "C",
  processor_payment_method_id text collate "C" not null,
  processor_customer_id text collate "C",
  type text default 'card'::text not null,
  off_session boolean not null,
  brand text not null,
  country text not null,
  exp_month smallint not null,
  exp_year smallint not null,
  funding text not null,
  last4 text not null,
  hsa_fsa boolean,
  billing_details jsonb default '{}'::jsonb not null,
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone not null,
  detached_at timestamp(3) with time zone,
  version bigint default 1 not null,
  hsa_fsa_source text,
  processor processor,
  processor_account text collate "C",
  mandate_id text,
  network_transaction_id text,
  constraint payment_methods_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint payment_methods_account_id_test_mode_processor_payment_meth_key UNIQUE (account_id, test_mode, processor_payment_method_id),
  constraint payment_methods_account_id_test_mode_customer_id_fkey FOREIGN KEY (account_id, test_mode, customer_id) REFERENCES customers(account_id, test_mode, id),
  constraint payment_methods_exp_month_check CHECK (((exp_month >= 1) AND (exp_month <= 12))),
  constraint payment_methods_exp_year_check CHECK (((exp_year >= 2000) AND (exp_year <= 9999))),
  constraint payment_methods_hsa_fsa_source CHECK ((hsa_fsa_source = ANY (ARRAY['processor'::text, 'issuer_range'::text, 'partner'::text, 'shopper'::text]))),
  constraint payment_methods_last4_check CHECK ((last4 ~ '^[0-9]{4}$'::text)),
  constraint payment_methods_source_of_a_kind CHECK (((hsa_fsa_source IS NULL) OR (hsa_fsa IS NOT NULL))),
  constraint payment_methods_type_check CHECK ((type = 'card'::text))
);
alter table payment_methods enable row level security;
alter table payment_methods force row level security;
create policy finder_reads on payment_methods for select to eligo_finder
  using (true);
create policy own_rows on payment_methods for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX payment_methods_by_customer ON checkout.payment_methods USING btree (account_id, test_mode, customer_id, id) WHERE (customer_id IS NOT NULL);
CREATE INDEX payment_methods_without_processor ON checkout.payment_methods USING btree (account_id, test_mode, id) WHERE (processor IS NULL);
CREATE TRIGGER guard_processor_account BEFORE INSERT OR UPDATE OF processor, processor_account ON checkout.payment_methods FOR EACH ROW EXECUTE FUNCTION guard_processor_account();
grant delete, insert, select, update on payment_methods to eligo_checkout;
grant select on payment_methods to eligo_finder;

create table payment_plans (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  id text collate "C" not null,
  state text not null,
  health_cents bigint default 0 not null,
  other_cents bigint default 0 not null,
  health_payment_method_id text collate "C",
  other_payment_method_id text collate "C",
  health_attempt_id text collate "C",
  other_attempt_id text collate "C",
  holds_only boolean default false not null,
  release_at timestamp with time zone,
  epoch integer default 1 not null,
  lease_until timestamp with time zone not null,
  next_check_at timestamp with time zone default now() not null,
  acting_at timestamp(3) with time zone not null,
  created_at timestamp with time zone default now() not null,
  tries integer default 0 not null,
  confirm_until timestamp with time zone default (now() + '00:03:00'::interval) not null,
  accepts_part boolean default false not null,
  asked_cents bigint,
  eligible_only boolean default false not null,
  is_late boolean default false not null,
  release_cause text,
  constraint payment_plans_pkey PRIMARY KEY (account_id, test_mode, session_id, id),
  constraint eligible_only_pays_what_was_asked CHECK (((NOT eligible_only) OR (other_cents = COALESCE((asked_cents - health_cents), (0)::bigint)))),
  constraint payment_plans_health_cents_check CHECK ((health_cents >= 0)),
  constraint payment_plans_health_has_card CHECK (((health_cents = 0) OR (health_payment_method_id IS NOT NULL))),
  constraint payment_plans_other_cents_check CHECK ((other_cents >= 0)),
  constraint payment_plans_state_check CHECK ((state = ANY (ARRAY['running'::text, 'awaiting_second_card'::text, 'awaiting_capture'::text, 'releasing'::text, 'done'::text, 'failed'::text]))),
  constraint release_cause_of_released CHECK (((release_cause IS NULL) OR (state = ANY (ARRAY['releasing'::text, 'failed'::text])))),
  constraint release_has_known_cause CHECK ((release_cause = ANY (ARRAY['other_payment_method_required'::text, 'payment_method_not_found'::text, 'checkout_session_payment_tries_exceeded'::text, 'customer_not_found'::text])))
);
alter table payment_plans enable row level security;
alter table payment_plans force row level security;
create policy finder on payment_plans for select to eligo_finder
  using (true);
create policy finder_wakes on payment_plans for update to eligo_finder
  using (true)
  with check (true);
create policy own_rows on payment_plans for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX payment_plans_lapsing ON checkout.payment_plans USING btree (release_at) WHERE (state = 'awaiting_second_card'::text);
CREATE INDEX payment_plans_lapsing_by_account ON checkout.payment_plans USING btree (account_id, test_mode, release_at) WHERE (state = 'awaiting_second_card'::text);
CREATE UNIQUE INDEX payment_plans_one_live ON checkout.payment_plans USING btree (account_id, test_mode, session_id) WHERE (state <> ALL (ARRAY['done'::text, 'failed'::text]));
CREATE INDEX payment_plans_unsettled ON checkout.payment_plans USING btree (next_check_at) WHERE (state = ANY (ARRAY['running'::text, 'releasing'::text]));
CREATE INDEX payment_plans_unsettled_by_account ON checkout.payment_plans USING btree (account_id, test_mode, next_check_at) WHERE (state = ANY (ARRAY['running'::text, 'releasing'::text]));
CREATE TRIGGER guard_ended BEFORE UPDATE OF state ON checkout.payment_plans FOR EACH ROW WHEN (((old.state = ANY (ARRAY['done'::text, 'failed'::text])) AND (new.state <> old.state))) EXECUTE FUNCTION guard_ended();
grant delete, insert, select, update on payment_plans to eligo_checkout;
grant select on payment_plans to eligo_finder;
grant update (next_check_at) on payment_plans to eligo_finder;

create table processor_events (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor text collate "C" not null,
  id text collate "C" not null,
  type text collate "C" not null,
  object_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  received_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint processor_events_pkey PRIMARY KEY (account_id, test_mode, processor, id)
);
alter table processor_events enable row level security;
alter table processor_events force row level security;
create policy finder_prunes on processor_events for delete to eligo_finder
  using ((received_at < (now() - '45 days'::interval)));
create policy finder_reads on processor_events for select to eligo_finder
  using (true);
create policy own_rows on processor_events for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX processor_events_received ON checkout.processor_events USING btree (received_at);
grant delete, select on processor_events to eligo_finder;
grant insert, select on processor_events to eligo_checkout;

create table promo_code_tries (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  tries smallint not null,
  constraint promo_code_tries_pkey PRIMARY KEY (account_id, test_mode, session_id),
  constraint promo_code_tries_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint promo_code_tries_tries_check CHECK (((tries >= 1) AND (tries <= 20)))
);
alter table promo_code_tries enable row level security;
alter table promo_code_tries force row level security;
create policy own_rows on promo_code_tries for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER refuse_fewer_tries BEFORE UPDATE ON checkout.promo_code_tries FOR EACH ROW EXECUTE FUNCTION refuse_fewer_tries();
grant insert, select, update on promo_code_tries to eligo_checkout;

create table refund_claims (
  account_id text collate "C" not null,
  test_mode boolean not null,
  refund_id text collate "C" not null,
  claim text not null,
  claimed_at timestamp(3) with time zone default now() not null,
  constraint refund_claims_pkey PRIMARY KEY (account_id, test_mode, refund_id),
  constraint refund_claims_claim_check CHECK ((claim = ANY (ARRAY['reserved'::text, 'closed'::text])))
);
alter table refund_claims enable row level security;
alter table refund_claims force row level security;
create policy own_rows on refund_claims for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select on refund_claims to eligo_checkout;

create table refund_reservation_captures (
  account_id text collate "C" not null,
  test_mode boolean not null,
  refund_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  capture_id text collate "C" not null,
  amount_cents bigint not null,
  constraint refund_reservation_captures_pkey PRIMARY KEY (account_id, test_mode, refund_id, payment_intent_id, capture_id),
  constraint refund_reservation_captures_account_id_test_mode_capture_i_fkey FOREIGN KEY (account_id, test_mode, capture_id) REFERENCES captures(account_id, test_mode, id),
  constraint refund_reservation_captures_account_id_test_mode_refund_id_fkey FOREIGN KEY (account_id, test_mode, refund_id, payment_intent_id) REFERENCES refund_reservation_parts(account_id, test_mode, refund_id, payment_intent_id),
  constraint refund_reservation_captures_amount_cents_check CHECK ((amount_cents > 0))
);
alter table refund_reservation_captures enable row level security;
alter table refund_reservation_captures force row level security;
create policy own_rows on refund_reservation_captures for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select on refund_reservation_captures to eligo_checkout;

create table refund_reservation_lines (
  account_id text collate "C" not null,
  test_mode boolean not null,
  refund_id text collate "C" not null,
  line_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  amount_cents bigint not null,
  letter_fee_cents bigint default 0 not null,
  constraint refund_reservation_lines_pkey PRIMARY KEY (account_id, test_mode, refund_id, line_id, payment_intent_id),
  constraint refund_reservation_lines_account_id_test_mode_refund_id_fkey FOREIGN KEY (account_id, test_mode, refund_id) REFERENCES refund_reservations(account_id, test_mode, refund_id),
  constraint refund_is_letter_fee_or_not CHECK (((letter_fee_cents = 0) OR (letter_fee_cents = amount_cents))),
  constraint refund_reservation_lines_amount_cents_check CHECK ((amount_cents > 0))
);
alter table refund_reservation_lines enable row level security;
alter table refund_reservation_lines force row level security;
create policy own_rows on refund_reservation_lines for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE CONSTRAINT TRIGGER check_letter_fee_of_refund AFTER INSERT ON checkout.refund_reservation_lines DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.letter_fee_cents > 0)) EXECUTE FUNCTION check_letter_fee_of_refund();
grant delete, insert, select, update on refund_reservation_lines to eligo_checkout;

create table refund_reservation_parts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  refund_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  amount_cents bigint not null,
  released boolean default false not null,
  constraint refund_reservation_parts_pkey PRIMARY KEY (account_id, test_mode, refund_id, payment_intent_id),
  constraint refund_reservation_parts_account_id_test_mode_refund_id_fkey FOREIGN KEY (account_id, test_mode, refund_id) REFERENCES refund_reservations(account_id, test_mode, refund_id),
  constraint refund_reservation_parts_amount_cents_check CHECK ((amount_cents > 0))
);
alter table refund_reservation_parts enable row level security;
alter table refund_reservation_parts force row level security;
create policy own_rows on refund_reservation_parts for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE CONSTRAINT TRIGGER check_released_letter_fee AFTER UPDATE OF released ON checkout.refund_reservation_parts DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.released AND (NOT old.released))) EXECUTE FUNCTION check_letter_fee_of_refund();
grant delete, insert, select, update on refund_reservation_parts to eligo_checkout;

create table refund_reservations (
  account_id text collate "C" not null,
  test_mode boolean not null,
  refund_id text collate "C" not null,
  session_id text collate "C",
  payment_intent_id text collate "C",
  amount_cents bigint not null,
  tax_cents bigint default 0 not null,
  shipping_cents bigint default 0 not null,
  discount_cents bigint default 0 not null,
  acting_at timestamp(3) with time zone not null,
  constraint refund_reservations_pkey PRIMARY KEY (account_id, test_mode, refund_id)
);
alter table refund_reservations enable row level security;
alter table refund_reservations force row level security;
create policy own_rows on refund_reservations for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE CONSTRAINT TRIGGER check_refund_sums AFTER INSERT ON checkout.refund_reservations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_refund_sums();
CREATE TRIGGER guard_refund_reservation BEFORE INSERT OR UPDATE ON checkout.refund_reservations FOR EACH ROW EXECUTE FUNCTION guard_refund_reservation();
grant delete, insert, select, update on refund_reservations to eligo_checkout;

create table renewal_notes (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  subscription_id text collate "C" not null,
  subscription_seq bigint not null,
  constraint renewal_notes_pkey PRIMARY KEY (account_id, test_mode, session_id),
  constraint renewal_notes_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint renewal_notes_subscription_seq_check CHECK ((subscription_seq > 0))
);
alter table renewal_notes enable row level security;
alter table renewal_notes force row level security;
create policy account_scope on renewal_notes for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER check_renewal_note BEFORE UPDATE ON checkout.renewal_notes FOR EACH ROW EXECUTE FUNCTION check_renewal_note();
grant insert, select, update on renewal_notes to eligo_checkout;

create table reviewers (
  id text collate "C" not null,
  name text not null,
  license text not null,
  state text not null,
  credential_hash bytea not null,
  created_at timestamp(3) with time zone default now() not null,
  revoked_at timestamp(3) with time zone,
  constraint reviewers_pkey PRIMARY KEY (id),
  constraint reviewers_credential_hash_key UNIQUE (credential_hash),
  constraint reviewers_credential_hash_check CHECK ((octet_length(credential_hash) = 32)),
  constraint reviewers_license_check CHECK ((license <> ''::text)),
  constraint reviewers_name_check CHECK ((name <> ''::text)),
  constraint reviewers_state_check CHECK ((state ~ '^[A-Z]{2}$'::text))
);
grant insert, select on reviewers to eligo_checkout;
grant update (revoked_at) on reviewers to eligo_checkout;

create table sealing_keys (
  key_id text collate "C" not null,
  fingerprint bytea not null,
  recorded_at timestamp(3) with time zone default now() not null,
  constraint sealing_keys_pkey PRIMARY KEY (key_id),
  constraint sealing_keys_fingerprint_check CHECK ((length(fingerprint) = 32)),
  constraint sealing_keys_key_id_check CHECK (((length(key_id) >= 1) AND (length(key_id) <= 32)))
);
grant insert (key_id), insert (fingerprint) on sealing_keys to eligo_checkout;
grant select on sealing_keys to eligo_checkout;

create table session_cancellations (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  canceled_by text not null,
  constraint session_cancellations_pkey PRIMARY KEY (account_id, test_mode, session_id),
  constraint session_cancellations_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint session_cancellations_canceled_by_check CHECK ((canceled_by = ANY (ARRAY['shopper'::text, 'partner'::text])))
);
alter table session_cancellations enable row level security;
alter table session_cancellations force row level security;
create policy own_rows on session_cancellations for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select on session_cancellations to eligo_checkout;

create table session_discounts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  id text collate "C" not null,
  "position" smallint not null,
  coupon_id text collate "C" not null,
  promo_code_id text collate "C",
  coupon jsonb not null,
  amount_cents bigint not null,
  entered_code text,
  constraint session_discounts_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint session_discounts_account_id_test_mode_session_id_position_key UNIQUE (account_id, test_mode, session_id, "position"),
  constraint session_discounts_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint session_discounts_amount_cents_check CHECK ((amount_cents >= 0)),
  constraint session_discounts_position_check CHECK (("position" >= 0))
);
alter table session_discounts enable row level security;
alter table session_discounts force row level security;
create policy own_rows on session_discounts for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER check_written_with_session AFTER INSERT ON checkout.session_discounts REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION check_written_with_session();
CREATE TRIGGER guard_discount BEFORE UPDATE ON checkout.session_discounts FOR EACH ROW EXECUTE FUNCTION guard_discount();
CREATE TRIGGER refuse_delete BEFORE DELETE ON checkout.session_discounts FOR EACH ROW EXECUTE FUNCTION guard_discount();
grant delete, insert, select, update on session_discounts to eligo_checkout;

create table session_existing_letters (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  product_id text collate "C" not null,
  letter_id text collate "C" not null,
  constraint session_existing_letters_pkey PRIMARY KEY (account_id, test_mode, session_id, product_id),
  constraint session_existing_letters_account_id_test_mode_letter_id_fkey FOREIGN KEY (account_id, test_mode, letter_id) REFERENCES letters(account_id, test_mode, id),
  constraint session_existing_letters_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id)
);
alter table session_existing_letters enable row level security;
alter table session_existing_letters force row level security;
create policy own_rows on session_existing_letters for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER guard_existing_letter BEFORE INSERT ON checkout.session_existing_letters FOR EACH ROW EXECUTE FUNCTION guard_existing_letter();
grant insert, select on session_existing_letters to eligo_checkout;

create table session_fees (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  id text collate "C" not null,
  "position" smallint not null,
  amount_cents bigint not null,
  name text,
  description text,
  fee_type text,
  applied boolean not null,
  waived_reason text collate "C",
  constraint session_fees_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint session_fees_account_id_test_mode_session_id_position_key UNIQUE (account_id, test_mode, session_id, "position"),
  constraint session_fees_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint session_fees_amount_cents_check CHECK ((amount_cents >= 0)),
  constraint session_fees_position_check CHECK (("position" >= 0)),
  constraint waived_for_a_reason CHECK ((applied OR (waived_reason IS NOT NULL)))
);
alter table session_fees enable row level security;
alter table session_fees force row level security;
create policy own_rows on session_fees for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER check_written_with_session AFTER INSERT ON checkout.session_fees REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION check_written_with_session();
CREATE TRIGGER refuse_delete BEFORE DELETE ON checkout.session_fees FOR EACH ROW EXECUTE FUNCTION refuse_delete();
grant delete, insert, select, update on session_fees to eligo_checkout;

create table session_keys (
  account_id text collate "C" not null,
  test_mode boolean not null,
  key text collate "C" not null,
  request_hash bytea not null,
  session_id text collate "C" not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint session_keys_pkey PRIMARY KEY (account_id, test_mode, key),
  constraint session_keys_key_check CHECK (((octet_length(key) >= 1) AND (octet_length(key) <= 255)))
);
alter table session_keys enable row level security;
alter table session_keys force row level security;
create policy finder_prunes on session_keys for delete to eligo_finder
  using ((created_at < (now() - '30 days'::interval)));
create policy finder_reads on session_keys for select to eligo_finder
  using (true);
create policy own_rows on session_keys for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX session_keys_by_age ON checkout.session_keys USING btree (created_at);
grant delete, insert, select, update on session_keys to eligo_checkout;
grant delete, select on session_keys to eligo_finder;

create table session_lines (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  id text collate "C" not null,
  "position" smallint not null,
  price_id text collate "C" not null,
  product_id text collate "C" not null,
  description text,
  quantity bigint not null,
  unit_amount_cents bigint not null,
  amount_subtotal_cents bigint not null,
  amount_discount_cents bigint not null,
  amount_tax_cents bigint not null,
  amount_shipping_cents bigint not null,
  amount_fee_cents bigint not null,
  amount_total_cents bigint not null,
  amount_eligible_cents bigint not null,
  eligibility_class text collate "C",
  eligibility_rule text collate "C" not null,
  eligibility_rule_version text collate "C" not null,
  rationale text not null,
  recurring_interval text collate "C",
  recurring_interval_count integer,
  recurring_trial_days integer,
  amount_captured_cents bigint default 0 not null,
  amount_refunded_cents bigint default 0 not null,
  payment_intent_id text collate "C",
  letter_fee_given_back_cents bigint default 0 not null,
  letter_fee_refunded_cents bigint default 0 not null,
  constraint session_lines_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint session_lines_account_id_test_mode_session_id_position_key UNIQUE (account_id, test_mode, session_id, "position"),
  constraint session_lines_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint letter_fee_within_line CHECK (((letter_fee_given_back_cents <= amount_fee_cents) AND ((letter_fee_refunded_cents >= 0) AND (letter_fee_refunded_cents <= letter_fee_given_back_cents)) AND (letter_fee_refunded_cents <= amount_refunded_cents)))
);
alter table session_lines enable row level security;
alter table session_lines force row level security;
create policy own_rows on session_lines for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE CONSTRAINT TRIGGER check_letter_fee_of_lines AFTER UPDATE OF letter_fee_given_back_cents ON checkout.session_lines DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.letter_fee_given_back_cents > old.letter_fee_given_back_cents)) EXECUTE FUNCTION check_letter_fee_of_lines();
CREATE TRIGGER check_written_with_session AFTER INSERT ON checkout.session_lines REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION check_written_with_session();
CREATE TRIGGER guard_letter_fee_of_line BEFORE UPDATE OF letter_fee_given_back_cents ON checkout.session_lines FOR EACH ROW WHEN ((new.letter_fee_given_back_cents <> old.letter_fee_given_back_cents)) EXECUTE FUNCTION guard_letter_fee_of_line();
CREATE TRIGGER guard_session_line BEFORE INSERT OR UPDATE ON checkout.session_lines FOR EACH ROW EXECUTE FUNCTION guard_session_line();
CREATE TRIGGER refuse_delete BEFORE DELETE ON checkout.session_lines FOR EACH ROW EXECUTE FUNCTION refuse_delete();
grant delete, insert, select, update on session_lines to eligo_checkout;

create table session_repricings (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  number smallint not null,
  cause text collate "C" not null,
  discount_id text collate "C" not null,
  promo_code_id text collate "C" not null,
  discount_cents bigint not null,
  total_cents bigint not null,
  eligible_cents bigint not null,
  created_at timestamp(3) with time zone not null,
  constraint session_repricings_pkey PRIMARY KEY (account_id, test_mode, session_id, number),
  constraint session_repricings_account_id_test_mode_discount_id_cause_key UNIQUE (account_id, test_mode, discount_id, cause),
  constraint session_repricings_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint session_repricings_cause_check CHECK ((cause = ANY (ARRAY['promo_code_entered'::text, 'promo_code_removed'::text]))),
  constraint session_repricings_check CHECK (((eligible_cents >= 0) AND (eligible_cents <= total_cents))),
  constraint session_repricings_discount_cents_check CHECK ((discount_cents >= 0)),
  constraint session_repricings_number_check CHECK (((number >= 1) AND (number <= 40))),
  constraint session_repricings_total_cents_check CHECK ((total_cents >= 0))
);
alter table session_repricings enable row level security;
alter table session_repricings force row level security;
create policy own_rows on session_repricings for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE CONSTRAINT TRIGGER check_repricing AFTER INSERT ON checkout.session_repricings DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_repricing();
CREATE TRIGGER refuse_change BEFORE DELETE OR UPDATE ON checkout.session_repricings FOR EACH ROW EXECUTE FUNCTION refuse_repricing_change();
grant insert, select on session_repricings to eligo_checkout;

create table session_selling_plans (
  account_id text collate "C" not null,
  test_mode boolean not null,
  selling_plan_id text collate "C" not null,
  session_id text collate "C" not null,
  constraint session_selling_plans_pkey PRIMARY KEY (account_id, test_mode, selling_plan_id, session_id),
  constraint session_selling_plans_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id)
);
alter table session_selling_plans enable row level security;
alter table session_selling_plans force row level security;
create policy own_rows on session_selling_plans for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant delete, insert, select, update on session_selling_plans to eligo_checkout;

create table session_split_lines (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  version smallint not null,
  line_id text collate "C" not null,
  amount_eligible_cents bigint not null,
  eligibility_class text collate "C",
  eligibility_rule text collate "C" not null,
  eligibility_rule_version text collate "C" not null,
  rationale text not null,
  constraint session_split_lines_pkey PRIMARY KEY (account_id, test_mode, session_id, version, line_id),
  constraint session_split_lines_account_id_test_mode_line_id_fkey FOREIGN KEY (account_id, test_mode, line_id) REFERENCES session_lines(account_id, test_mode, id),
  constraint session_split_lines_account_id_test_mode_session_id_versio_fkey FOREIGN KEY (account_id, test_mode, session_id, version) REFERENCES session_split_versions(account_id, test_mode, session_id, version),
  constraint session_split_lines_amount_eligible_cents_check CHECK ((amount_eligible_cents >= 0))
);
alter table session_split_lines enable row level security;
alter table session_split_lines force row level security;
create policy own_rows on session_split_lines for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER refuse_change BEFORE DELETE OR UPDATE ON checkout.session_split_lines FOR EACH ROW EXECUTE FUNCTION refuse_split_change();
grant insert, select on session_split_lines to eligo_checkout;

create table session_split_versions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  version smallint not null,
  id text collate "C" not null,
  cause text collate "C" not null,
  eligible_cents bigint not null,
  created_at timestamp(3) with time zone not null,
  constraint session_split_versions_pkey PRIMARY KEY (account_id, test_mode, session_id, version),
  constraint session_split_versions_account_id_test_mode_id_key UNIQUE (account_id, test_mode, id),
  constraint session_split_versions_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint first_version_is_the_creation CHECK (((version = 1) = (cause = 'created'::text))),
  constraint session_split_versions_cause_check CHECK ((cause = ANY (ARRAY['created'::text, 'letter_denied'::text]))),
  constraint session_split_versions_eligible_cents_check CHECK ((eligible_cents >= 0)),
  constraint session_split_versions_version_check CHECK ((version >= 1))
);
alter table session_split_versions enable row level security;
alter table session_split_versions force row level security;
create policy own_rows on session_split_versions for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE CONSTRAINT TRIGGER check_split_version AFTER INSERT ON checkout.session_split_versions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_split_version();
CREATE TRIGGER refuse_change BEFORE DELETE OR UPDATE ON checkout.session_split_versions FOR EACH ROW EXECUTE FUNCTION refuse_split_change();
grant insert, select on session_split_versions to eligo_checkout;

create table sessions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  status text collate "C" not null,
  mode text collate "C" not null,
  capture_method text collate "C" not null,
  customer_id text collate "C",
  customer_email text,
  test_clock_id text collate "C",
  payment_method_id text collate "C",
  client_reference_id text collate "C",
  setup_future_use text collate "C",
  amount_subtotal_cents bigint not null,
  amount_discount_cents bigint not null,
  amount_tax_cents bigint not null,
  amount_shipping_cents bigint not null,
  amount_fee_cents bigint not null,
  amount_total_cents bigint not null,
  amount_eligible_cents bigint not null,
  amount_iias_cents bigint not null,
  amount_prescription_cents bigint not null,
  amount_vision_cents bigint not null,
  amount_service_cents bigint not null,
  amount_received_cents bigint default 0 not null,
  amount_refunded_cents bigint default 0 not null,
  amount_disputed_cents bigint default 0 not null,
  letter_required boolean not null,
  letter_fee_cents bigint,
  letter_fee_status text collate "C",
  fee_count smallint default 0 not null,
  discount_count smallint default 0 not null,
  visit_type text,
  expires_at timestamp(3) with time zone not null,
  created_at timestamp(3) with time zone not null,
  completed_at timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  renewal_as_of timestamp(3) with time zone,
  payment_intent_ids text[] default '{}'::text[] not null,
  refund_ids text[] default '{}'::text[] not null,
  capture_ids text[] default '{}'::text[] not null,
  dispute_ids text[] default '{}'::text[] not null,
  split_cart_id text collate "C",
  setup_intent_id text collate "C",
  subscription_id text collate "C",
  invoice_id text collate "C",
  next_action jsonb,
  storefront_payment_details jsonb,
  shipping_details jsonb,
  metadata jsonb default '{}'::jsonb not null,
  details jsonb default '{}'::jsonb not null,
  version bigint default 1 not null,
  captured_tax_cents bigint default 0 not null,
  captured_shipping_cents bigint default 0 not null,
  captured_discount_cents bigint default 0 not null,
  refunded_tax_cents bigint default 0 not null,
  refunded_shipping_cents bigint default 0 not null,
  refunded_discount_cents bigint default 0 not null,
  entered_discount_id text collate "C",
  declines_on_page smallint default 0 not null,
  declines_by_request smallint default 0 not null,
  typed_cards smallint default 0 not null,
  constraint sessions_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint sessions_account_id_test_mode_customer_id_fkey FOREIGN KEY (account_id, test_mode, customer_id) REFERENCES customers(account_id, test_mode, id),
  constraint declines_by_request_are_bounded CHECK (((declines_by_request >= 0) AND (declines_by_request <= 60))),
  constraint declines_on_page_are_bounded CHECK (((declines_on_page >= 0) AND (declines_on_page <= 20))),
  constraint typed_cards_are_bounded CHECK (((typed_cards >= 0) AND (typed_cards <= 60)))
);
alter table sessions enable row level security;
alter table sessions force row level security;
create policy finder_reads on sessions for select to eligo_finder
  using (true);
create policy own_rows on sessions for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX sessions_by_created_at ON checkout.sessions USING btree (account_id, test_mode, created_at, id);
CREATE INDEX sessions_by_customer ON checkout.sessions USING btree (account_id, test_mode, customer_id, id) WHERE (customer_id IS NOT NULL);
CREATE INDEX sessions_by_email ON checkout.sessions USING btree (account_id, test_mode, customer_email, id) WHERE (customer_email IS NOT NULL);
CREATE INDEX sessions_by_mode ON checkout.sessions USING btree (account_id, test_mode, mode, id);
CREATE INDEX sessions_by_reference ON checkout.sessions USING btree (account_id, test_mode, client_reference_id, id) WHERE (client_reference_id IS NOT NULL);
CREATE INDEX sessions_by_status ON checkout.sessions USING btree (account_id, test_mode, status, id);
CREATE INDEX sessions_by_status_and_mode ON checkout.sessions USING btree (account_id, test_mode, status, mode, id);
CREATE INDEX sessions_by_subscription ON checkout.sessions USING btree (account_id, test_mode, subscription_id, id) WHERE (subscription_id IS NOT NULL);
CREATE INDEX sessions_disputed ON checkout.sessions USING btree (account_id, test_mode, id) WHERE (dispute_ids <> '{}'::text[]);
CREATE INDEX sessions_due ON checkout.sessions USING btree (expires_at) WHERE ((status = 'open'::text) AND (test_clock_id IS NULL));
CREATE INDEX sessions_due_by_clock ON checkout.sessions USING btree (account_id, test_mode, test_clock_id, expires_at) WHERE ((status = 'open'::text) AND (test_clock_id IS NOT NULL));
CREATE INDEX sessions_out_of_time ON checkout.sessions USING btree (account_id, test_mode, created_at, id) WHERE (NOT id_tells_time(id, created_at));
CREATE CONSTRAINT TRIGGER check_session_money AFTER UPDATE OF amount_received_cents, amount_refunded_cents ON checkout.sessions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((old.amount_received_cents IS DISTINCT FROM new.amount_received_cents) OR (old.amount_refunded_cents IS DISTINCT FROM new.amount_refunded_cents))) EXECUTE FUNCTION check_session_money();
CREATE CONSTRAINT TRIGGER check_session_sums AFTER INSERT ON checkout.sessions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_session_sums();
CREATE TRIGGER end_session_with_its_letters BEFORE UPDATE OF expires_at ON checkout.sessions FOR EACH ROW WHEN ((new.expires_at > old.expires_at)) EXECUTE FUNCTION end_session_with_its_letters();
CREATE TRIGGER guard_session BEFORE INSERT OR UPDATE ON checkout.sessions FOR EACH ROW EXECUTE FUNCTION guard_session();
CREATE TRIGGER leave_deleted_clock BEFORE INSERT ON checkout.sessions FOR EACH ROW WHEN ((new.test_clock_id IS NOT NULL)) EXECUTE FUNCTION leave_deleted_clock();
CREATE TRIGGER refuse_delete BEFORE DELETE ON checkout.sessions FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER refuse_fewer_declines BEFORE UPDATE OF declines_on_page, declines_by_request ON checkout.sessions FOR EACH ROW EXECUTE FUNCTION refuse_fewer_declines();
CREATE TRIGGER refuse_fewer_typed_cards BEFORE UPDATE OF typed_cards ON checkout.sessions FOR EACH ROW WHEN ((new.typed_cards < old.typed_cards)) EXECUTE FUNCTION refuse_fewer_typed_cards();
CREATE TRIGGER refuse_more_refunds BEFORE UPDATE OF refund_ids ON checkout.sessions FOR EACH ROW WHEN (((cardinality(new.refund_ids) > 1000) AND (cardinality(old.refund_ids) <= 1000))) EXECUTE FUNCTION refuse_more_refunds();
grant delete, insert, select, update on sessions to eligo_checkout;
grant select on sessions to eligo_finder;

create table set_up_failures (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  number bigint not null,
  setup_intent_id text collate "C" not null,
  failure_code text not null,
  decline_code text,
  failed_at timestamp(3) with time zone not null,
  constraint set_up_failures_pkey PRIMARY KEY (account_id, test_mode, session_id, number),
  constraint set_up_failures_account_id_test_mode_session_id_fkey FOREIGN KEY (account_id, test_mode, session_id) REFERENCES sessions(account_id, test_mode, id),
  constraint set_up_failures_account_id_test_mode_setup_intent_id_fkey FOREIGN KEY (account_id, test_mode, setup_intent_id) REFERENCES setup_intents(account_id, test_mode, id)
);
alter table set_up_failures enable row level security;
alter table set_up_failures force row level security;
create policy own_rows on set_up_failures for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select on set_up_failures to eligo_checkout;

create table setup_intents (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  status text not null,
  customer_id text collate "C",
  payment_method_id text collate "C",
  session_id text collate "C",
  created_at timestamp(3) with time zone not null,
  tries integer default 0 not null,
  processor processor,
  processor_account text collate "C",
  backup_of text collate "C",
  processor_setup_intent_id text collate "C",
  asked_at timestamp(3) with time zone,
  asked_of jsonb,
  constraint setup_intents_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint setup_intents_asked_is_whole CHECK ((((asked_at IS NULL) = (processor_setup_intent_id IS NULL)) AND ((asked_at IS NULL) = (asked_of IS NULL)) AND ((asked_at IS NULL) OR (status = ANY (ARRAY['processing'::text, 'succeeded'::text]))))),
  constraint setup_intents_backup_is_another CHECK ((backup_of <> id)) NOT VALID,
  constraint setup_intents_status_check CHECK ((status = ANY (ARRAY['requires_payment_method'::text, 'processing'::text, 'succeeded'::text, 'canceled'::text])))
);
alter table setup_intents enable row level security;
alter table setup_intents force row level security;
create policy finder_reads on setup_intents for select to eligo_finder
  using (true);
create policy own_rows on setup_intents for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX setup_intents_by_customer ON checkout.setup_intents USING btree (account_id, test_mode, customer_id, id DESC);
CREATE INDEX setup_intents_by_saved_card ON checkout.setup_intents USING btree (account_id, test_mode, payment_method_id) WHERE (status = 'succeeded'::text);
CREATE UNIQUE INDEX setup_intents_one_backup ON checkout.setup_intents USING btree (account_id, test_mode, backup_of) WHERE (backup_of IS NOT NULL);
CREATE INDEX setup_intents_without_processor ON checkout.setup_intents USING btree (account_id, test_mode, id) WHERE (processor IS NULL);
CREATE TRIGGER guard_processor_account BEFORE INSERT OR UPDATE OF processor, processor_account ON checkout.setup_intents FOR EACH ROW EXECUTE FUNCTION guard_processor_account();
grant delete, insert, select, update on setup_intents to eligo_checkout;
grant select on setup_intents to eligo_finder;

create table subscription_set_ups (
  account_id text collate "C" not null,
  test_mode boolean not null,
  subscription_id text collate "C" not null,
  setup_intent_id text collate "C" not null,
  customer_id text collate "C" not null,
  payment_method_id text collate "C",
  processor processor not null,
  processor_account text collate "C" not null,
  processor_setup_intent_id text collate "C",
  tries integer default 0 not null,
  status text collate "C" not null,
  ends boolean default false not null,
  saved_payment_method_id text collate "C",
  expires_at timestamp(3) with time zone not null,
  next_check_at timestamp(3) with time zone not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint subscription_set_ups_pkey PRIMARY KEY (account_id, test_mode, subscription_id),
  constraint subscription_set_ups_account_id_test_mode_setup_intent_id_key UNIQUE (account_id, test_mode, setup_intent_id),
  constraint subscription_set_ups_account_id_test_mode_customer_id_fkey FOREIGN KEY (account_id, test_mode, customer_id) REFERENCES customers(account_id, test_mode, id),
  constraint subscription_set_ups_is_at_the_processor CHECK (((status <> ALL (ARRAY['waiting'::text, 'saved'::text])) OR (processor_setup_intent_id IS NOT NULL))),
  constraint subscription_set_ups_saved_has_its_card CHECK (((status = 'saved'::text) = (saved_payment_method_id IS NOT NULL))),
  constraint subscription_set_ups_status_check CHECK ((status = ANY (ARRAY['beginning'::text, 'waiting'::text, 'saved'::text, 'canceled'::text]))),
  constraint subscription_set_ups_tries_check CHECK ((tries >= 0))
);
alter table subscription_set_ups enable row level security;
alter table subscription_set_ups force row level security;
create policy finder_reads on subscription_set_ups for select to eligo_finder
  using (true);
create policy own_rows on subscription_set_ups for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX subscription_set_ups_by_account ON checkout.subscription_set_ups USING btree (account_id, test_mode, next_check_at) WHERE (status = ANY (ARRAY['beginning'::text, 'waiting'::text]));
CREATE UNIQUE INDEX subscription_set_ups_by_intent ON checkout.subscription_set_ups USING btree (account_id, test_mode, processor_setup_intent_id) WHERE (processor_setup_intent_id IS NOT NULL);
CREATE INDEX subscription_set_ups_due ON checkout.subscription_set_ups USING btree (next_check_at) WHERE (status = ANY (ARRAY['beginning'::text, 'waiting'::text]));
CREATE TRIGGER guard_subscription_set_up BEFORE UPDATE ON checkout.subscription_set_ups FOR EACH ROW EXECUTE FUNCTION guard_subscription_set_up();
grant insert, select, update on subscription_set_ups to eligo_checkout;
grant select on subscription_set_ups to eligo_finder;

create table test_clocks (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  frozen_time timestamp(3) with time zone not null,
  deleted_at timestamp(3) with time zone,
  unsettled boolean default true not null,
  left_at timestamp(3) with time zone,
  constraint test_clocks_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint test_clocks_test_mode_check CHECK (test_mode)
);
alter table test_clocks enable row level security;
alter table test_clocks force row level security;
create policy finder_reads on test_clocks for select to eligo_finder
  using (true);
create policy own_rows on test_clocks for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX test_clocks_to_leave ON checkout.test_clocks USING btree (account_id, test_mode, id) WHERE ((deleted_at IS NOT NULL) AND (left_at IS NULL));
CREATE INDEX test_clocks_unsettled ON checkout.test_clocks USING btree (account_id, test_mode, id) WHERE unsettled;
grant delete, insert, select, update on test_clocks to eligo_checkout;
grant select on test_clocks to eligo_finder;

CREATE OR REPLACE FUNCTION checkout.account_of_letter(letter_id text)
 RETURNS TABLE(account_id text, test_mode boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select l.account_id, l.test_mode from checkout.letters l where l.id = letter_id limit 1
$function$;
alter function account_of_letter(letter_id text) owner to eligo_finder;
grant execute on function account_of_letter(letter_id text) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.accounts_with_payments(after_account text, after_test_mode boolean, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, processor processor, processor_account text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  with recursive turns as (
    (select i.account_id, i.test_mode, 1 as turn from checkout.payment_intents i
      where (i.account_id, i.test_mode) > (after_account collate "C", after_test_mode)
      order by i.account_id, i.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select i.account_id, i.test_mode from checkout.payment_intents i
       where (i.account_id, i.test_mode) > (t.account_id, t.test_mode)
       order by i.account_id, i.test_mode limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, l.processor, l.processor_account from turns t cross join lateral (
    select i.processor, i.processor_account from checkout.payment_intents i
     where i.account_id = t.account_id and i.test_mode = t.test_mode order by i.id desc limit 1) l
$function$;
alter function accounts_with_payments(after_account text, after_test_mode boolean, most integer) owner to eligo_finder;
grant execute on function accounts_with_payments(after_account text, after_test_mode boolean, most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.charge_work_turns(after_account text, after_mode boolean, accounts integer, each integer)
 RETURNS TABLE(kind text, account_id text, test_mode boolean, id text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
declare
  is_any boolean;
begin
  account_id := after_account;
  test_mode := after_mode;
  for step in 1..accounts loop
    select w.account_id, w.test_mode into account_id, test_mode from (
      (select a.account_id, a.test_mode from checkout.charge_attempts a
        where a.status in ('created', 'sending', 'unknown') and (a.status <> 'created' or a.driver <> 'invoice')
          and (a.account_id, a.test_mode) > (charge_work_turns.account_id, charge_work_turns.test_mode)
        order by a.account_id, a.test_mode limit 1)
      union all
      (select o.account_id, o.test_mode from checkout.intent_operations o
        where o.status = 'pending' and (o.account_id, o.test_mode) > (charge_work_turns.account_id, charge_work_turns.test_mode)
        order by o.account_id, o.test_mode limit 1)
      union all
      (select p.account_id, p.test_mode from checkout.payment_plans p
        where p.state in ('running', 'releasing') and (p.account_id, p.test_mode) > (charge_work_turns.account_id, charge_work_turns.test_mode)
        order by p.account_id, p.test_mode limit 1)
      union all
      (select p.account_id, p.test_mode from checkout.payment_plans p
        where p.state = 'awaiting_second_card' and (p.account_id, p.test_mode) > (charge_work_turns.account_id, charge_work_turns.test_mode)
        order by p.account_id, p.test_mode limit 1)
      ) w order by w.account_id, w.test_mode limit 1;
    exit when not found;
    is_any := false;
    for kind, id in
      (select 'attempt', a.id from checkout.charge_attempts a
        where a.account_id = charge_work_turns.account_id and a.test_mode = charge_work_turns.test_mode
          and a.status = 'sending' and a.next_check_at <= now() and a.lease_until < now()
        order by a.next_check_at limit each)
      union all
      (select 'attempt', a.id from checkout.charge_attempts a
        where a.account_id = charge_work_turns.account_id and a.test_mode = charge_work_turns.test_mode
          and a.status = 'unknown' and a.next_check_at <= now() and a.lease_until < now()
        order by a.next_check_at limit each)
      union all
      (select 'abandoned', a.id from checkout.charge_attempts a
        where a.account_id = charge_work_turns.account_id and a.test_mode = charge_work_turns.test_mode
          and a.status = 'created' and a.next_check_at <= now() and a.lease_until < now() - interval '3 seconds'
          and a.driver <> 'invoice' and not (a.driver = 'page' and exists (
            select from checkout.payment_plans p
             where p.account_id = a.account_id and p.test_mode = a.test_mode and p.session_id = a.subject_id
               and p.state in ('running', 'releasing')))
        order by a.next_check_at limit each)
      union all
      (select case when o.capture_id is null then 'operation' else 'capture' end, o.id from checkout.intent_operations o
        where o.account_id = charge_work_turns.account_id and o.test_mode = charge_work_turns.test_mode
          and o.status = 'pending' and o.next_check_at <= now() and o.lease_until < now()
        order by o.next_check_at limit each)
      union all
      (select 'plan', p.session_id from checkout.payment_plans p
        where p.account_id = charge_work_turns.account_id and p.test_mode = charge_work_turns.test_mode
          and p.state in ('running', 'releasing') and p.next_check_at <= now() and p.lease_until < now()
        order by p.next_check_at limit each)
      union all
      (select 'lapsed', p.session_id from checkout.payment_plans p
        where p.account_id = charge_work_turns.account_id and p.test_mode = charge_work_turns.test_mode
          and p.state = 'awaiting_second_card' and p.release_at <= now()
        order by p.release_at limit each)
    loop
      is_any := true;
      return next;
    end loop;
    if not is_any then
      kind := null;
      id := null;
      return next;
    end if;
  end loop;
end $function$;
alter function charge_work_turns(after_account text, after_mode boolean, accounts integer, each integer) owner to eligo_finder;
grant execute on function charge_work_turns(after_account text, after_mode boolean, accounts integer, each integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.charge_work_waiting(older_than interval)
 RETURNS TABLE(attempts_in_doubt bigint, plans bigint, holds bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
 SET enable_bitmapscan TO 'off'
AS $function$
  select
    (select count(*) from (select from checkout.charge_attempts a
      where a.status = 'sending' and greatest(a.created_at, a.authenticate_until) < now() - older_than
      order by greatest(a.created_at, a.authenticate_until) limit 1000) counted)
    + (select count(*) from (select from checkout.charge_attempts a
      where a.status = 'unknown' and greatest(a.created_at, a.authenticate_until) < now() - older_than
      order by greatest(a.created_at, a.authenticate_until) limit 1000) counted),
    (select count(*) from (select from checkout.payment_plans p
      where p.state in ('running', 'releasing') and p.lease_until < now() order by p.next_check_at limit 1000) counted),
    (select count(*) from (select from checkout.intent_operations o
      where o.status = 'pending' and o.created_at < now() - older_than order by o.next_check_at limit 1000) counted)
$function$;
alter function charge_work_waiting(older_than interval) owner to eligo_finder;
grant execute on function charge_work_waiting(older_than interval) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.check_capture_sums()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  lines bigint;
  cards bigint;
begin
  select (select coalesce(sum(l.amount_cents), 0) from checkout.capture_lines l
           where l.account_id = new.account_id and l.test_mode = new.test_mode and l.capture_id = new.id),
         (select coalesce(sum(o.amount_cents), 0) from checkout.intent_operations o
           where o.account_id = new.account_id and o.test_mode = new.test_mode and o.capture_id = new.id)
    into lines, cards;
  if lines <> new.amount_cents then
    raise exception 'the lines of capture % sum to % and not to %', new.id, lines, new.amount_cents
      using errcode = 'check_violation', constraint = 'capture_is_the_sum_of_its_lines';
  end if;
  if cards <> new.amount_cents then
    raise exception 'the cards of capture % sum to % and not to %', new.id, cards, new.amount_cents
      using errcode = 'check_violation', constraint = 'capture_is_the_sum_of_its_cards';
  end if;
  return null;
end $function$;
alter function check_capture_sums() owner to eligo_owner;
grant execute on function check_capture_sums() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.check_letter_fee_of_lines()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  whole record;
begin
  select s.letter_fee_status as status, coalesce(s.letter_fee_cents, 0) as fee,
      (select sum(l.letter_fee_given_back_cents) from checkout.session_lines l
        where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = new.session_id) as given_back
    into whole
    from checkout.sessions s
   where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.session_id;
  if whole.status is distinct from 'refunded' or whole.given_back > whole.fee then
    raise exception 'the lines of session % give back % of its letter fee of %, which is %', new.session_id, whole.given_back, whole.fee,
      whole.status using errcode = 'check_violation', constraint = 'letter_fee_of_session_is_given_back';
  end if;
  return null;
end $function$;
alter function check_letter_fee_of_lines() owner to eligo_owner;
grant execute on function check_letter_fee_of_lines() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.check_letter_fee_of_refund()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  line record;
begin
  select l.id, l.letter_fee_given_back_cents as given_back, l.letter_fee_refunded_cents as refunded, r.reserved into line
    from (select f.line_id, coalesce(sum(f.letter_fee_cents) filter (where not p.released), 0) as reserved
            from checkout.refund_reservation_lines f
            join checkout.refund_reservation_parts p on p.account_id = f.account_id and p.test_mode = f.test_mode
              and p.refund_id = f.refund_id and p.payment_intent_id = f.payment_intent_id
           where f.account_id = new.account_id and f.test_mode = new.test_mode and f.refund_id = new.refund_id and f.letter_fee_cents > 0
           group by f.line_id) r
    join checkout.session_lines l on l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = r.line_id
   where l.letter_fee_refunded_cents <> r.reserved or l.letter_fee_given_back_cents <> r.reserved
   limit 1;
  if found then
    raise exception 'line % gives back % of its letter fee, % are refunded, and refund % has %', line.id, line.given_back, line.refunded,
      new.refund_id, line.reserved using errcode = 'check_violation', constraint = 'refund_of_letter_fee_is_noted_at_its_lines';
  end if;
  return null;
end $function$;
alter function check_letter_fee_of_refund() owner to eligo_owner;
grant execute on function check_letter_fee_of_refund() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.check_line_tender()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  of_line record;
  of_card bigint;
begin
  select l.amount_total_cents as total, l.amount_captured_cents as captured, l.amount_refunded_cents as refunded,
      coalesce(sum(t.amount_cents) filter (where i.status <> 'canceled'), 0) as tendered,
      coalesce(sum(t.captured_cents), 0) as tenders_captured, coalesce(sum(t.refunded_cents), 0) as tenders_refunded
    into of_line
    from checkout.session_lines l
    join checkout.line_tenders t on t.account_id = l.account_id and t.test_mode = l.test_mode and t.session_id = l.session_id
      and t.line_id = l.id
    join checkout.payment_intents i on i.account_id = t.account_id and i.test_mode = t.test_mode and i.id = t.payment_intent_id
   where l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.line_id
   group by l.amount_total_cents, l.amount_captured_cents, l.amount_refunded_cents;
  if (of_line.tenders_captured, of_line.tenders_refunded) is distinct from (of_line.captured, of_line.refunded) then
    raise exception 'of line % was captured % and refunded %, and of its tenders % and %', new.line_id, of_line.captured, of_line.refunded,
      of_line.tenders_captured, of_line.tenders_refunded
      using errcode = 'check_violation', constraint = 'line_money_is_its_tenders';
  end if;
  if tg_op = 'UPDATE' then
    return null;
  end if;
  if of_line.tendered <> of_line.total then
    raise exception 'the tenders of line % come to % and not to %', new.line_id, of_line.tendered, of_line.total
      using errcode = 'check_violation', constraint = 'line_is_the_sum_of_its_tenders';
  end if;
  select sum(t.amount_cents) - i.amount_cents into of_card
    from checkout.payment_intents i
    join checkout.line_tenders t on t.account_id = i.account_id and t.test_mode = i.test_mode and t.payment_intent_id = i.id
     and t.session_id = i.session_id
   where i.account_id = new.account_id and i.test_mode = new.test_mode and i.id = new.payment_intent_id
   group by i.amount_cents;
  if of_card <> 0 then
    raise exception 'the tenders of payment intent % differ from it by %', new.payment_intent_id, of_card
      using errcode = 'check_violation', constraint = 'card_is_the_sum_of_its_tenders';
  end if;
  return null;
end $function$;
alter function check_line_tender() owner to eligo_owner;
grant execute on function check_line_tender() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.check_refund_sums()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  cards bigint;
  lines bigint;
  beyond text;
begin
  select (select coalesce(sum(p.amount_cents), 0) from checkout.refund_reservation_parts p
           where p.account_id = new.account_id and p.test_mode = new.test_mode and p.refund_id = new.refund_id),
         (select coalesce(sum(l.amount_cents), 0) from checkout.refund_reservation_lines l
           where l.account_id = new.account_id and l.test_mode = new.test_mode and l.refund_id = new.refund_id),
         (select p.payment_intent_id from checkout.refund_reservation_parts p
           where p.account_id = new.account_id and p.test_mode = new.test_mode and p.refund_id = new.refund_id
             and p.amount_cents < (select sum(c.amount_cents) from checkout.refund_reservation_captures c
               where c.account_id = new.account_id and c.test_mode = new.test_mode and c.refund_id = new.refund_id
                 and c.payment_intent_id = p.payment_intent_id) limit 1)
    into cards, lines, beyond;
  if cards <> new.amount_cents then
    raise exception 'the cards of a refund sum to % and not to %', cards, new.amount_cents
      using errcode = 'check_violation', constraint = 'refund_is_the_sum_of_its_cards';
  end if;
  if lines <> new.amount_cents then
    raise exception 'the lines of a refund sum to % and not to %', lines, new.amount_cents
      using errcode = 'check_violation', constraint = 'refund_is_the_sum_of_its_lines';
  end if;
  if beyond is not null then
    raise exception 'the captures of a refund sum to more than its part of card %', beyond
      using errcode = 'check_violation', constraint = 'refund_part_covers_its_captures';
  end if;
  return null;
end $function$;
alter function check_refund_sums() owner to eligo_owner;
grant execute on function check_refund_sums() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.check_renewal_note()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.subscription_id <> old.subscription_id or new.subscription_seq <= old.subscription_seq then
    raise exception 'a renewal is told by an event after the last one of its subscription'
      using errcode = 'check_violation', constraint = 'renewals_are_told_in_order';
  end if;
  return new;
end $function$;
alter function check_renewal_note() owner to eligo_owner;
grant execute on function check_renewal_note() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.check_repricing()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  s checkout.sessions;
  sums record;
  broken text;
begin
  select * into s from checkout.sessions
   where account_id = new.account_id and test_mode = new.test_mode and id = new.session_id;
  select coalesce(sum(amount_discount_cents), 0) as discount, coalesce(sum(amount_tax_cents), 0) as tax,
         coalesce(sum(amount_shipping_cents), 0) as shipping, coalesce(sum(amount_fee_cents), 0) as fee,
         coalesce(sum(amount_total_cents), 0) as total, coalesce(sum(amount_eligible_cents), 0) as eligible,
         coalesce(sum(amount_eligible_cents)
           filter (where eligibility_class in ('auto_substantiation', 'private_label')), 0) as iias,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'prescription'), 0) as prescription,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'vision'), 0) as vision,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'service'), 0) as service,
         coalesce(bool_and(amount_discount_cents between 0 and amount_subtotal_cents
           and amount_tax_cents >= 0 and amount_shipping_cents >= 0 and amount_fee_cents >= 0
           and amount_total_cents = amount_subtotal_cents - amount_discount_cents + amount_tax_cents + amount_shipping_cents + amount_fee_cents
           and amount_eligible_cents = case when eligibility_class is null or eligibility_class = 'not_eligible' then 0 else amount_total_cents end),
           true) as lines_hold
    into sums
    from checkout.session_lines
   where account_id = new.account_id and test_mode = new.test_mode and session_id = new.session_id;
  broken := case
    when s.status <> 'open' or s.setup_intent_id is not null or exists (
      select from checkout.payment_intents i
       where i.account_id = new.account_id and i.test_mode = new.test_mode and i.session_id = new.session_id
    ) or exists (
      select from checkout.payment_plans p
       where p.account_id = new.account_id and p.test_mode = new.test_mode and p.session_id = new.session_id
         and p.state not in ('done', 'failed')
    ) then 'no_card_was_given'
    when not sums.lines_hold then 'line_total_is_the_sum_of_its_parts'
    when (sums.discount, sums.tax, sums.shipping, sums.fee, sums.total, sums.eligible, sums.iias, sums.prescription, sums.vision, sums.service)
      is distinct from
      (s.amount_discount_cents, s.amount_tax_cents, s.amount_shipping_cents, s.amount_fee_cents, s.amount_total_cents, s.amount_eligible_cents,
       s.amount_iias_cents, s.amount_prescription_cents, s.amount_vision_cents, s.amount_service_cents)
      then 'session_lines_sum_to_session'
    when (select coalesce(sum(amount_cents), 0) from checkout.session_discounts
           where account_id = new.account_id and test_mode = new.test_mode and session_id = new.session_id)
      <> s.amount_discount_cents then 'session_discounts_sum_to_session'
    when (select count(*) from checkout.session_discounts
           where account_id = new.account_id and test_mode = new.test_mode and session_id = new.session_id)
      <> s.discount_count then 'session_counts_its_discounts'
    when (select count(*) from checkout.session_discounts
           where account_id = new.account_id and test_mode = new.test_mode and session_id = new.session_id and entered_code is not null
             and id is distinct from s.entered_discount_id) > 0 then 'one_code_is_entered'
    when exists (select from checkout.session_discounts
           where account_id = new.account_id and test_mode = new.test_mode and session_id = new.session_id and id = new.discount_id
             and entered_code is not null) <> (new.cause = 'promo_code_entered')
      or s.entered_discount_id is distinct from case new.cause when 'promo_code_entered' then new.discount_id end
      then 'repricing_tells_its_cause'
    when (select eligible_cents from checkout.eligibility_records
           where account_id = new.account_id and test_mode = new.test_mode and session_id = new.session_id)
      is distinct from s.amount_eligible_cents then 'eligibility_record_equals_session'
    when (new.discount_cents, new.total_cents, new.eligible_cents)
      is distinct from (s.amount_discount_cents, s.amount_total_cents, s.amount_eligible_cents) then 'session_equals_its_latest_repricing'
  end;
  if broken is not null then
    raise exception 'repricing % of session % violates %', new.number, new.session_id, broken
      using errcode = 'check_violation', constraint = broken;
  end if;
  return null;
end $function$;
alter function check_repricing() owner to eligo_owner;
grant execute on function check_repricing() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.check_session_money()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  sums record;
begin
  select s.amount_received_cents as received, s.amount_refunded_cents as refunded,
         cards.received as cards_received, cards.refunded as cards_refunded, lines.received as lines_received, lines.refunded as lines_refunded
    into sums
    from checkout.sessions s,
      lateral (select coalesce(sum(i.amount_received_cents), 0) as received, coalesce(sum(i.amount_refunded_cents), 0) as refunded
        from checkout.payment_intents i
       where i.account_id = new.account_id and i.test_mode = new.test_mode and i.session_id = new.id) cards,
      lateral (select coalesce(sum(l.amount_captured_cents), 0) as received, coalesce(sum(l.amount_refunded_cents), 0) as refunded
        from checkout.session_lines l
       where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = new.id) lines
   where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.id;
  if (sums.cards_received, sums.cards_refunded) is distinct from (sums.received, sums.refunded) then
    raise exception 'session % received % and gave back %, and its cards % and %',
      new.id, sums.received, sums.refunded, sums.cards_received, sums.cards_refunded
      using errcode = 'check_violation', constraint = 'session_money_is_its_cards';
  end if;
  if (sums.lines_received, sums.lines_refunded) is distinct from (sums.received, sums.refunded) then
    raise exception 'session % received % and gave back %, and its lines % and %',
      new.id, sums.received, sums.refunded, sums.lines_received, sums.lines_refunded
      using errcode = 'check_violation', constraint = 'session_money_is_its_lines';
  end if;
  return null;
end $function$;
alter function check_session_money() owner to eligo_owner;
grant execute on function check_session_money() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.check_session_sums()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  sums record;
begin
  select coalesce(sum(amount_subtotal_cents), 0) as subtotal, coalesce(sum(amount_discount_cents), 0) as discount,
         coalesce(sum(amount_tax_cents), 0) as tax, coalesce(sum(amount_shipping_cents), 0) as shipping,
         coalesce(sum(amount_fee_cents), 0) as fee, coalesce(sum(amount_total_cents), 0) as total,
         coalesce(sum(amount_eligible_cents), 0) as eligible,
         coalesce(sum(amount_eligible_cents)
           filter (where eligibility_class in ('auto_substantiation', 'private_label')), 0) as iias,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'prescription'), 0) as prescription,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'vision'), 0) as vision,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'service'), 0) as service,
         count(*) as lines,
         count(*) filter (where eligibility_class = 'letter_of_medical_necessity' and amount_total_cents > 0) as letters,
         (select r.eligible_cents from checkout.eligibility_records r
           where r.account_id = new.account_id and r.test_mode = new.test_mode and r.session_id = new.id) as record_eligible,
         case when new.fee_count > 0 or new.amount_fee_cents > 0 then
           (select coalesce(sum(f.amount_cents) filter (where f.applied), 0) from checkout.session_fees f
             where f.account_id = new.account_id and f.test_mode = new.test_mode and f.session_id = new.id) end as fees
    into sums
    from checkout.session_lines
   where account_id = new.account_id and test_mode = new.test_mode and session_id = new.id;
  if (sums.subtotal, sums.discount, sums.tax, sums.shipping, sums.fee, sums.total, sums.eligible, sums.iias,
      sums.prescription, sums.vision, sums.service)
     is distinct from
     (new.amount_subtotal_cents, new.amount_discount_cents, new.amount_tax_cents, new.amount_shipping_cents,
      new.amount_fee_cents, new.amount_total_cents, new.amount_eligible_cents, new.amount_iias_cents,
      new.amount_prescription_cents, new.amount_vision_cents, new.amount_service_cents) then
    raise exception 'a session''s lines do not sum to it'
      using errcode = 'check_violation', constraint = 'session_lines_sum_to_session';
  end if;
  if sums.fees <> new.amount_fee_cents then
    raise exception 'a session''s fees do not sum to it'
      using errcode = 'check_violation', constraint = 'session_fees_sum_to_session';
  end if;
  if new.discount_count > 0 or new.amount_discount_cents > 0 then
    if (select coalesce(sum(d.amount_cents), 0) from checkout.session_discounts d
         where d.account_id = new.account_id and d.test_mode = new.test_mode and d.session_id = new.id) <> new.amount_discount_cents then
      raise exception 'a session''s discounts do not sum to it'
        using errcode = 'check_violation', constraint = 'session_discounts_sum_to_session';
    end if;
  end if;
  if sums.lines > 0 and sums.record_eligible is distinct from new.amount_eligible_cents then
    raise exception 'a session''s eligibility record does not equal it'
      using errcode = 'check_violation', constraint = 'eligibility_record_equals_session';
  end if;
  if sums.letters > 0 and not new.letter_required then
    if exists (
      select from checkout.session_lines l
       where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = new.id
         and l.eligibility_class = 'letter_of_medical_necessity' and l.amount_total_cents > 0
         and not exists (
           select from checkout.session_existing_letters e
            where e.account_id = new.account_id and e.test_mode = new.test_mode and e.session_id = new.id and e.product_id = l.product_id)
    ) then
      raise exception 'session % needs a letter that it does not have', new.id
        using errcode = 'check_violation', constraint = 'session_has_its_letters';
    end if;
  end if;
  return null;
end $function$;
alter function check_session_sums() owner to eligo_owner;
grant execute on function check_session_sums() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.check_split_version()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
begin
  select case
    when (select count(*) from checkout.session_split_lines v
           where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.version = new.version)
      <> (select count(*) from checkout.session_lines l
           where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = new.session_id)
      then 'split_version_has_every_line'
    when (select coalesce(sum(v.amount_eligible_cents), 0) from checkout.session_split_lines v
           where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.version = new.version)
      <> new.eligible_cents then 'split_lines_sum_to_version'
    when new.version > 1 and exists (
      select from checkout.session_split_lines v
        left join checkout.session_split_lines before on before.account_id = v.account_id and before.test_mode = v.test_mode
         and before.session_id = v.session_id and before.version = v.version - 1 and before.line_id = v.line_id
       where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.version = new.version
         and (before.line_id is null or v.amount_eligible_cents > before.amount_eligible_cents)
    ) then 'split_version_makes_nothing_eligible'
    when not exists (
      select from checkout.session_split_versions later
       where later.account_id = new.account_id and later.test_mode = new.test_mode and later.session_id = new.session_id
         and later.version > new.version
    ) and (not exists (
      select from checkout.sessions s
       where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.session_id
         and s.split_cart_id = new.id and s.amount_eligible_cents = new.eligible_cents
    ) or exists (
      select from checkout.session_split_lines v
        join checkout.session_lines l on l.account_id = v.account_id and l.test_mode = v.test_mode and l.id = v.line_id
       where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.version = new.version
         and (l.session_id, l.amount_eligible_cents, l.eligibility_class)
           is distinct from (v.session_id, v.amount_eligible_cents, v.eligibility_class)
    )) then 'session_equals_its_latest_split'
    when new.version > 1 and exists (
      select from checkout.session_split_lines v
        join checkout.session_lines l on l.account_id = v.account_id and l.test_mode = v.test_mode and l.id = v.line_id
       where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.version = new.version
         and v.eligibility_class = 'letter_of_medical_necessity' and v.amount_eligible_cents > 0
         and not exists (
           select from checkout.letters a
            where a.account_id = v.account_id and a.test_mode = v.test_mode and a.session_id = v.session_id
              and a.product_id = l.product_id and a.status = 'approved')
         and not exists (
           select from checkout.session_existing_letters e
            where e.account_id = v.account_id and e.test_mode = v.test_mode and e.session_id = v.session_id and e.product_id = l.product_id)
    ) then 'session_has_its_letters'
  end into broken;
  if broken is not null then
    raise exception 'version % of the split of session % violates %', new.version, new.session_id, broken
      using errcode = 'check_violation', constraint = broken;
  end if;
  return null;
end $function$;
alter function check_split_version() owner to eligo_owner;
grant execute on function check_split_version() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.check_written_with_session()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from (select distinct account_id, test_mode, session_id from written) w
    where not exists (
      select from checkout.sessions s
       where s.account_id = w.account_id and s.test_mode = w.test_mode and s.id = w.session_id
         and s.xmin = pg_current_xact_id()::xid
    )
  ) then
    raise exception 'rows of % are written with their session', tg_table_name
      using errcode = 'check_violation', constraint = 'session_split_is_final';
  end if;
  return null;
end $function$;
alter function check_written_with_session() owner to eligo_owner;
grant execute on function check_written_with_session() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.count_captured_elsewhere()
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select count(*) from (select from checkout.payment_intents i
    where i.status = 'requires_capture' and i.captured_elsewhere_cents is not null limit 1000) counted
$function$;
alter function count_captured_elsewhere() owner to eligo_finder;
grant execute on function count_captured_elsewhere() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.deleted_clocks(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select c.account_id, c.test_mode, c.id from checkout.test_clocks c
   where c.deleted_at is not null and c.left_at is null limit most
$function$;
alter function deleted_clocks(most integer) owner to eligo_finder;
grant execute on function deleted_clocks(most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.due_catalog_tasks(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, session_id text, kind text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select t.account_id, t.test_mode, t.session_id, t.kind from checkout.catalog_tasks t
   where t.due_at <= now() order by t.due_at limit most
$function$;
alter function due_catalog_tasks(most integer) owner to eligo_finder;
grant execute on function due_catalog_tasks(most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.due_charge_work(most integer)
 RETURNS TABLE(kind text, account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  (select 'attempt', d.account_id, d.test_mode, d.id from (
    (select a.account_id, a.test_mode, a.id, a.next_check_at from checkout.charge_attempts a
      where a.status = 'sending' and a.next_check_at <= now() and a.lease_until < now()
      order by a.next_check_at limit most)
    union all
    (select a.account_id, a.test_mode, a.id, a.next_check_at from checkout.charge_attempts a
      where a.status = 'unknown' and a.next_check_at <= now() and a.lease_until < now()
      order by a.next_check_at limit most)
    ) d order by d.next_check_at limit most)
  union all
  (select 'abandoned', a.account_id, a.test_mode, a.id from checkout.charge_attempts a
    where a.status = 'created' and a.next_check_at <= now() and a.lease_until < now() - interval '3 seconds'
      and a.driver <> 'invoice' and not (a.driver = 'page' and exists (
        select from checkout.payment_plans p
         where p.account_id = a.account_id and p.test_mode = a.test_mode and p.session_id = a.subject_id
           and p.state in ('running', 'releasing')))
    order by a.next_check_at limit most)
  union all
  (select case when o.capture_id is null then 'operation' else 'capture' end, o.account_id, o.test_mode, o.id
    from checkout.intent_operations o
    where o.status = 'pending' and o.next_check_at <= now() and o.lease_until < now()
    order by o.next_check_at limit most)
  union all
  (select 'plan', p.account_id, p.test_mode, p.session_id from checkout.payment_plans p
    where p.state in ('running', 'releasing') and p.next_check_at <= now() and p.lease_until < now()
    order by p.next_check_at limit most)
  union all
  (select 'lapsed', p.account_id, p.test_mode, p.session_id from checkout.payment_plans p
    where p.state = 'awaiting_second_card' and p.release_at <= now()
    order by p.release_at limit most)
$function$;
alter function due_charge_work(most integer) owner to eligo_finder;
grant execute on function due_charge_work(most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.due_holds(at timestamp with time zone, accounts integer, each integer, after_account text, after_mode boolean)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
declare
  is_any boolean;
begin
  account_id := after_account;
  test_mode := after_mode;
  for step in 1..accounts loop
    select i.account_id, i.test_mode into account_id, test_mode from checkout.payment_intents i
     where i.status = 'requires_capture' and (i.account_id, i.test_mode) > (due_holds.account_id, due_holds.test_mode)
     order by i.account_id, i.test_mode limit 1;
    exit when not found;
    is_any := false;
    for id in
      select i.id from checkout.payment_intents i
       where i.account_id = due_holds.account_id and i.test_mode = due_holds.test_mode and i.status = 'requires_capture'
         and i.hold_check_at <= at
       order by i.hold_check_at limit each
    loop
      is_any := true;
      return next;
    end loop;
    if not is_any then
      id := null;
      return next;
    end if;
  end loop;
end $function$;
alter function due_holds(at timestamp with time zone, accounts integer, each integer, after_account text, after_mode boolean) owner to eligo_finder;
grant execute on function due_holds(at timestamp with time zone, accounts integer, each integer, after_account text, after_mode boolean) to eligo_checkout;
comment on function due_holds(at timestamp with time zone, accounts integer, each integer, after_account text, after_mode boolean) is 'Unused; hold_turns took its place. The next release drops it.';

CREATE OR REPLACE FUNCTION checkout.due_letters(at timestamp with time zone, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select l.account_id, l.test_mode, l.id from checkout.letters l
   where l.status = 'in_review' and l.test_clock_id is null and l.review_until <= at
   order by l.review_until limit most
$function$;
alter function due_letters(at timestamp with time zone, most integer) owner to eligo_finder;
grant execute on function due_letters(at timestamp with time zone, most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.due_letters_on_clocks(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select d.account_id, d.test_mode, d.id
    from checkout.test_clocks c
    cross join lateral (
      select l.account_id, l.test_mode, l.id from checkout.letters l
       where l.account_id = c.account_id and l.test_mode = c.test_mode and l.test_clock_id = c.id
         and l.status = 'in_review' and l.review_until <= c.frozen_time
       order by l.review_until limit 20
    ) d
   where c.unsettled and c.deleted_at is null
   limit most
$function$;
alter function due_letters_on_clocks(most integer) owner to eligo_finder;
grant execute on function due_letters_on_clocks(most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.due_sessions(at timestamp with time zone, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select s.account_id, s.test_mode, s.id from checkout.sessions s
   where s.status = 'open' and s.test_clock_id is null and s.expires_at <= at
     and not checkout.is_charging(s.account_id, s.test_mode, s.id)
   order by s.expires_at limit most
$function$;
alter function due_sessions(at timestamp with time zone, most integer) owner to eligo_finder;
grant execute on function due_sessions(at timestamp with time zone, most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.due_sessions_after(at timestamp with time zone, most integer, after_expires timestamp with time zone, after_id text)
 RETURNS TABLE(account_id text, test_mode boolean, id text, expires_at timestamp with time zone, charging boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select p.account_id, p.test_mode, p.id, p.expires_at, checkout.is_charging(p.account_id, p.test_mode, p.id) from (
    select s.account_id, s.test_mode, s.id, s.expires_at from checkout.sessions s
     where s.status = 'open' and s.test_clock_id is null and s.expires_at <= at
       and s.expires_at >= after_expires and (s.expires_at, s.id) > (after_expires, after_id)
     order by s.expires_at, s.id limit most
  ) p
$function$;
alter function due_sessions_after(at timestamp with time zone, most integer, after_expires timestamp with time zone, after_id text) owner to eligo_finder;
grant execute on function due_sessions_after(at timestamp with time zone, most integer, after_expires timestamp with time zone, after_id text) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.due_sessions_on_clocks(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select d.account_id, d.test_mode, d.id
    from checkout.test_clocks c
    cross join lateral (
      select s.account_id, s.test_mode, s.id from checkout.sessions s
       where s.account_id = c.account_id and s.test_mode = c.test_mode and s.test_clock_id = c.id
         and s.status = 'open' and s.expires_at <= c.frozen_time and not checkout.is_charging(s.account_id, s.test_mode, s.id)
       order by s.expires_at limit 20
    ) d
   where c.unsettled and c.deleted_at is null
   limit most
$function$;
alter function due_sessions_on_clocks(most integer) owner to eligo_finder;
grant execute on function due_sessions_on_clocks(most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.end_session_with_its_letters()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  letter_end timestamptz;
begin
  select min(l.valid_until) into letter_end from checkout.session_existing_letters e
    join checkout.letters l on l.account_id = e.account_id and l.test_mode = e.test_mode and l.id = e.letter_id
   where e.account_id = new.account_id and e.test_mode = new.test_mode and e.session_id = new.id;
  new.expires_at := least(new.expires_at, letter_end);
  return new;
end $function$;
alter function end_session_with_its_letters() owner to eligo_owner;
grant execute on function end_session_with_its_letters() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.follow_published_mark()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  begin
    if new.published_at is null then
      insert into "checkout".outbox_queue (event_id) values (new.event_id) on conflict do nothing;
      return null;
    end if;
    delete from "checkout".outbox_queue where event_id = new.event_id;
    insert into "checkout".outbox_positions as p (minute, last_seq, oldest_event_id, oldest_new_event_id)
      values (date_trunc('minute', clock_timestamp()), new.stream_seq, new.event_id, new.event_id)
      on conflict (minute) do update set last_seq = greatest(p.last_seq, excluded.last_seq), ended_at = excluded.ended_at,
        oldest_event_id = least(p.oldest_event_id, excluded.oldest_event_id),
        oldest_new_event_id = least(p.oldest_new_event_id, excluded.oldest_new_event_id);
    return null;
  end
  $function$;
alter function follow_published_mark() owner to eligo_owner;
grant execute on function follow_published_mark() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_approved_part()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.accepts_part <> old.accepts_part and not (old.status = 'created' and new.accepts_part
      and new.leg = 'health' and new.driver = 'page' and new.capture_method = 'manual') then
    raise exception 'charge attempt % cannot accept a part', old.id
      using errcode = 'check_violation', constraint = 'only_a_hold_accepts_a_part';
  end if;
  if (new.amount_cents, new.asked_cents) is distinct from (old.amount_cents, old.asked_cents) and not (
    old.accepts_part and old.asked_cents is null and new.asked_cents = old.amount_cents
    and new.amount_cents between 50 and old.amount_cents - 50 and old.status in ('sending', 'unknown')
  ) then
    raise exception 'charge attempt % was not asked to accept a part', old.id
      using errcode = 'check_violation', constraint = 'approved_part_was_asked_for';
  end if;
  return new;
end $function$;
alter function guard_approved_part() owner to eligo_owner;
grant execute on function guard_approved_part() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_attempt_account()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  card record;
begin
  if (new.processor is null) <> (new.processor_account is null) then
    raise exception 'a processor and its account are stored together'
      using errcode = 'check_violation', constraint = 'processor_account_is_whole';
  end if;
  if new.test_mode and new.processor <> 'sandbox' then
    raise exception 'test mode uses the sandbox alone' using errcode = 'check_violation', constraint = 'test_mode_is_at_the_sandbox';
  end if;
  if tg_op = 'UPDATE' then
    if old.processor is not null and (new.processor, new.processor_account) is distinct from (old.processor, old.processor_account) then
      raise exception 'what is at a processor account stays there'
        using errcode = 'check_violation', constraint = 'processor_account_is_final';
    end if;
    return new;
  end if;
  select m.processor, m.processor_account, exists (
      select from checkout.customers c
       where c.account_id = m.account_id and c.test_mode = m.test_mode and c.id = m.customer_id and c.deleted_at is not null) as is_of_deleted,
      new.purpose = 'session' and exists (
      select from checkout.customers c
       where c.account_id = new.account_id and c.test_mode = new.test_mode and c.id = new.customer_id and c.deleted_at is not null)
        as is_for_deleted
    into card from checkout.payment_methods m
   where m.account_id = new.account_id and m.test_mode = new.test_mode and m.id = new.payment_method_id;
  if card.processor <> new.processor or card.processor_account <> new.processor_account then
    raise exception 'charge attempt % is at another processor account than its card', new.id
      using errcode = 'check_violation', constraint = 'charged_where_the_card_is';
  end if;
  if card.is_of_deleted then
    raise exception 'card % belongs to a deleted customer', new.payment_method_id
      using errcode = 'check_violation', constraint = 'no_card_of_a_deleted_customer';
  end if;
  if card.is_for_deleted then
    raise exception 'charge attempt % is for a deleted customer', new.id
      using errcode = 'check_violation', constraint = 'no_charge_for_a_deleted_customer';
  end if;
  return new;
end $function$;
alter function guard_attempt_account() owner to eligo_owner;
grant execute on function guard_attempt_account() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_capture()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
  whole record;
begin
  if tg_op = 'UPDATE' then
    -- It ends once. A card whose hold was lost makes it smaller as it ends.
    if (new.status <> old.status and old.status <> 'pending')
       or (new.session_id, new.cause, new.final, new.created_at) is distinct from (old.session_id, old.cause, old.final, old.created_at)
       or new.amount_cents > old.amount_cents or new.tax_cents > old.tax_cents or new.shipping_cents > old.shipping_cents
       or new.discount_cents > old.discount_cents
       or (new.status = old.status and (new.amount_cents, new.tax_cents, new.shipping_cents, new.discount_cents)
         is distinct from (old.amount_cents, old.tax_cents, old.shipping_cents, old.discount_cents)) then
      raise exception 'capture % does not change', old.id using errcode = 'check_violation', constraint = 'capture_is_final';
    end if;
  else
    select s.amount_total_cents - s.amount_received_cents as amount, s.amount_tax_cents - s.captured_tax_cents as tax,
        s.amount_shipping_cents - s.captured_shipping_cents as shipping, s.amount_discount_cents - s.captured_discount_cents as discount
      into whole from checkout.sessions s
     where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.session_id;
    broken := case
      when not (new.cause in ('session', 'payment_intent', 'page', 'letter')) then 'captures_cause_check'
      when not (new.amount_cents >= 0 and (new.final or new.amount_cents > 0)) then 'captures_amount_cents_check'
      when not (new.tax_cents >= 0 and new.shipping_cents >= 0 and new.discount_cents >= 0) then 'captures_components_check'
      when not (new.amount_cents <= whole.amount) then 'capture_within_session'
      when not (new.tax_cents <= whole.tax and new.shipping_cents <= whole.shipping and new.discount_cents <= whole.discount)
        then 'capture_within_components'
    end;
  end if;
  if not (new.status in ('pending', 'succeeded', 'failed')) then broken := 'captures_status_check'; end if;
  if broken is not null then
    raise exception 'capture % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_capture() owner to eligo_owner;
grant execute on function guard_capture() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_capture_has_letters()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  needing record;
begin
  select a.leg, s.id, s.letter_required into needing
    from checkout.charge_attempts a
    join checkout.sessions s on s.account_id = a.account_id and s.test_mode = a.test_mode and s.id = a.subject_id
   where a.account_id = new.account_id and a.test_mode = new.test_mode and a.id = new.attempt_id and a.purpose = 'session';
  if not found or not needing.letter_required then
    return new;
  end if;
  if exists (
    select from checkout.letters l
     where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = needing.id and l.status <> 'approved'
  ) or (needing.leg = 'health' and not exists (
    select from checkout.letters l
     where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = needing.id
  )) then
    raise exception 'session % has a letter that is not approved', needing.id
      using errcode = 'check_violation', constraint = 'capture_has_its_letters';
  end if;
  return new;
end $function$;
alter function guard_capture_has_letters() owner to eligo_owner;
grant execute on function guard_capture_has_letters() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_capture_line()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  line record;
  tender_left bigint;
begin
  select l.amount_total_cents - l.amount_captured_cents as remaining, l.payment_intent_id, l.session_id into line
    from checkout.session_lines l
   where l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.line_id;
  if not (new.amount_cents > 0 and new.amount_cents <= line.remaining) or line.remaining is null then
    raise exception 'capture % takes % of line %', new.capture_id, new.amount_cents, new.line_id
      using errcode = 'check_violation', constraint = 'capture_within_line';
  end if;
  select t.amount_cents - t.captured_cents into tender_left from checkout.line_tenders t
   where t.account_id = new.account_id and t.test_mode = new.test_mode and t.session_id = line.session_id and t.line_id = new.line_id
     and t.payment_intent_id = new.payment_intent_id;
  if found then
    if new.amount_cents > tender_left then
      raise exception 'capture % takes % of the tender of line %', new.capture_id, new.amount_cents, new.line_id
        using errcode = 'check_violation', constraint = 'capture_within_tender';
    end if;
  elsif line.payment_intent_id <> new.payment_intent_id then
    raise exception 'line % is paid by another card', new.line_id
      using errcode = 'check_violation', constraint = 'line_is_paid_by_one_card';
  end if;
  return new;
end $function$;
alter function guard_capture_line() owner to eligo_owner;
grant execute on function guard_capture_line() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_captured_hold()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  held record;
begin
  select a.purpose into held from checkout.charge_attempts a
   where a.account_id = new.account_id and a.test_mode = new.test_mode and a.id = new.attempt_id for share;
  if held.purpose in ('renewal', 'renewed') then
    raise exception 'another hold takes the place of charge attempt %', new.attempt_id
      using errcode = 'check_violation', constraint = 'one_hold_of_a_leg_is_captured';
  end if;
  return new;
end $function$;
alter function guard_captured_hold() owner to eligo_owner;
grant execute on function guard_captured_hold() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_charge()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text := case
    when not (new.status in ('succeeded', 'pending', 'failed')) then 'charges_status_check'
    when not (new.amount_cents > 0) then 'charges_amount_cents_check'
    when not (new.amount_captured_cents >= 0) then 'charges_amount_captured_cents_check'
    when not (new.amount_refunded_cents >= 0) then 'charges_amount_refunded_cents_check'
    when not (new.amount_captured_cents <= new.amount_cents) then 'charges_captured_within_amount'
    when not (new.amount_refunded_cents <= new.amount_captured_cents) then 'charges_refunded_within_captured'
  end;
begin
  if broken is not null then
    raise exception 'charge % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_charge() owner to eligo_owner;
grant execute on function guard_charge() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_charge_attempt()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
  total bigint;
  eligible bigint;
  charged bigint;
  used_up boolean;
begin
  if tg_op = 'UPDATE' then
    if new.status <> old.status then
      -- The moves of domain/charge-attempt.ts. An attempt that was sent is abandoned only once its time is over and with the code that says so.
      if not (
        (old.status = 'created' and new.status in ('sending', 'abandoned', 'declined', 'failed')) or
        (old.status = 'sending' and new.status in ('succeeded', 'declined', 'failed', 'unknown')) or
        (old.status = 'unknown' and new.status in ('sending', 'succeeded', 'declined', 'failed')) or
        (old.status in ('sending', 'unknown') and new.status = 'abandoned'
          and new.failure_code is not null and new.confirm_until <= clock_timestamp()) or
        (old.status = 'succeeded' and new.status = 'released')
      ) then
        raise exception 'charge attempt % cannot go from % to %', old.id, old.status, new.status using errcode = 'check_violation';
      end if;
      -- Twenty minutes bound every window that the service may be configured with.
      if new.status = 'sending' and least(new.confirm_until, new.created_at + interval '20 minutes') <= clock_timestamp() then
        raise exception 'charge attempt % can no longer be confirmed', old.id
          using errcode = 'check_violation', constraint = 'confirmed_in_time';
      end if;
    end if;
    if new.confirm_until > old.confirm_until then
      raise exception 'the time to confirm % does not grow', old.id
        using errcode = 'check_violation', constraint = 'confirm_until_only_shrinks';
    end if;
    if new.purpose <> old.purpose then
      if not ((old.purpose, new.purpose) in (('session', 'renewed'), ('renewal', 'session'))
          and old.status = 'succeeded' and new.status = 'succeeded' and old.capture_method = 'manual') then
        raise exception 'charge attempt % cannot go from % to %', old.id, old.purpose, new.purpose
          using errcode = 'check_violation', constraint = 'charge_attempt_purpose_table';
      end if;
      -- A capture that has begun takes its money from this hold, so that no other one may take its place.
      if new.purpose = 'renewed' and (
        exists (select from checkout.captures c where c.account_id = new.account_id and c.test_mode = new.test_mode
          and c.session_id = new.subject_id and c.status = 'pending')
        or exists (select from checkout.intent_operations o where o.account_id = new.account_id and o.test_mode = new.test_mode
          and o.payment_intent_id = new.payment_intent_id and o.status = 'pending' and o.kind = 'capture')
        or exists (select from checkout.payment_intents i where i.account_id = new.account_id and i.test_mode = new.test_mode
          and i.id = new.payment_intent_id and i.amount_received_cents > 0)
      ) then
        raise exception 'the hold of charge attempt % is captured', old.id
          using errcode = 'check_violation', constraint = 'one_hold_of_a_leg_is_captured';
      end if;
    end if;
  elsif new.purpose = 'session' then
    -- The charges and holds of a session never exceed it, however a confirm and the page meet: their legs differ, so no unique index keeps them
    -- apart. Whoever begins an attempt holds the session's row, so two cannot both find room.
    select s.amount_total_cents, s.amount_eligible_cents, coalesce((
        select sum(a.amount_cents) from checkout.charge_attempts a
         where a.account_id = new.account_id and a.test_mode = new.test_mode and a.purpose = 'session'
           and a.subject_id = new.subject_id and a.status in ('created', 'sending', 'unknown', 'succeeded')), 0),
        case when new.off_session then s.declines_by_request >= 60 else s.declines_on_page >= 20 end
      into total, eligible, charged, used_up
      from checkout.sessions s
     where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.subject_id;
    if charged + new.amount_cents > total or (new.leg = 'health' and new.amount_cents > eligible) then
      raise exception 'more would be charged than session % comes to', new.subject_id
        using errcode = 'check_violation', constraint = 'charges_within_session';
    end if;
    if used_up then
      raise exception 'session % has used up its declines', new.subject_id
        using errcode = 'check_violation', constraint = 'session_declines_are_bounded';
    end if;
  elsif new.purpose = 'renewal' then
    -- The same card for the same amount, held again, and nothing else. Two cards of one session are two renewals.
    if new.capture_method <> 'manual' or new.eligibility_record_id is not null or not exists (
      select from checkout.charge_attempts a
       where a.account_id = new.account_id and a.test_mode = new.test_mode and a.purpose = 'session' and a.subject_id = new.subject_id
         and a.leg = new.leg and a.status in ('created', 'sending', 'unknown', 'succeeded') and a.status = 'succeeded'
         and a.capture_method = 'manual' and a.amount_cents = new.amount_cents and a.payment_method_id = new.payment_method_id
    ) then
      raise exception 'charge attempt % renews no hold', new.id
        using errcode = 'check_violation', constraint = 'renewal_is_of_a_hold';
    end if;
  end if;
  broken := case
    when not (new.purpose in ('session', 'invoice', 'renewal') or (tg_op = 'UPDATE' and new.purpose = 'renewed'))
      then 'charge_attempts_purpose_check'
    when not (new.leg in ('health', 'other')) then 'charge_attempts_leg_check'
    when not (new.driver in ('confirm', 'page', 'invoice')) then 'charge_attempts_driver_check'
    when not (new.capture_method in ('automatic', 'manual')) then 'charge_attempts_capture_method_check'
    when not (new.amount_cents between 50 and 9007199254740991) then 'charge_attempts_amount_cents_check'
    when not (new.status in ('created', 'sending', 'unknown', 'succeeded', 'declined', 'failed', 'abandoned', 'released'))
      then 'charge_attempts_status_check'
    when not (new.iias_cents >= 0) then 'charge_attempts_iias_cents_check'
    when not (new.prescription_cents >= 0) then 'charge_attempts_prescription_cents_check'
    when not (new.vision_cents >= 0) then 'charge_attempts_vision_cents_check'
    when not (new.service_cents >= 0) then 'charge_attempts_service_cents_check'
    when not (new.status in ('created', 'abandoned', 'declined', 'failed') or new.processor_intent_id is not null)
      then 'charge_attempts_sent_has_intent'
    when not (new.iias_cents + new.prescription_cents + new.vision_cents + new.service_cents <= new.amount_cents)
      then 'charge_attempts_healthcare_within_amount'
  end;
  if broken is not null then
    raise exception 'charge attempt % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_charge_attempt() owner to eligo_owner;
grant execute on function guard_charge_attempt() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_discount()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if checkout.is_repriced(old.account_id, old.test_mode, old.session_id) then
    if tg_op = 'DELETE' and old.entered_code is not null then
      return old;
    end if;
    if tg_op = 'UPDATE' and (new.account_id, new.test_mode, new.session_id, new.id, new.position, new.coupon_id, new.promo_code_id, new.coupon,
        new.entered_code) is not distinct from (old.account_id, old.test_mode, old.session_id, old.id, old.position, old.coupon_id,
        old.promo_code_id, old.coupon, old.entered_code) then
      return new;
    end if;
  end if;
  raise exception 'a session''s discounts do not change'
    using errcode = 'check_violation', constraint = 'session_split_is_final';
end $function$;
alter function guard_discount() owner to eligo_owner;
grant execute on function guard_discount() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_eligibility_record()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if not checkout.is_repriced(new.account_id, new.test_mode, new.session_id) or old.charged_attempt_id is not null then
    raise exception 'an eligibility record does not change'
      using errcode = 'check_violation', constraint = 'session_split_is_final';
  end if;
  return new;
end $function$;
alter function guard_eligibility_record() owner to eligo_owner;
grant execute on function guard_eligibility_record() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_ended()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'what has ended in % stays as it is', tg_table_name
    using errcode = 'check_violation', constraint = 'ended_stays_ended';
end $function$;
alter function guard_ended() owner to eligo_owner;
grant execute on function guard_ended() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_existing_letter()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  letter_end timestamptz;
begin
  select l.valid_until into letter_end from checkout.letters l
    join checkout.sessions s on s.account_id = l.account_id and s.test_mode = l.test_mode and s.id = new.session_id
   where l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.letter_id
     and l.status = 'approved' and l.valid_until > s.created_at and l.product_id = new.product_id and l.customer_id = s.customer_id;
  if letter_end is null then
    raise exception 'letter % does not serve session %', new.letter_id, new.session_id
      using errcode = 'check_violation', constraint = 'existing_letter_is_valid';
  end if;
  update checkout.sessions s set expires_at = letter_end
   where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.session_id and s.expires_at > letter_end;
  return new;
end $function$;
alter function guard_existing_letter() owner to eligo_owner;
grant execute on function guard_existing_letter() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_health_card_charge()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from checkout.health_card_statements s
    where s.account_id = new.account_id and s.test_mode = new.test_mode and s.substantiation is null
  ) then
    raise exception 'account % charges no health cards', new.account_id
      using errcode = 'check_violation', constraint = 'invoices_charge_enabled_health_cards';
  end if;
  return new;
end $function$;
alter function guard_health_card_charge() owner to eligo_owner;
grant execute on function guard_health_card_charge() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_health_card_renewal()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from checkout.health_card_statements s
    where s.account_id = new.account_id and s.test_mode = new.test_mode and s.substantiation is null
  ) then
    raise exception 'account % authorizes no health cards', new.account_id
      using errcode = 'check_violation', constraint = 'renewals_hold_enabled_health_cards';
  end if;
  return new;
end $function$;
alter function guard_health_card_renewal() owner to eligo_owner;
grant execute on function guard_health_card_renewal() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_health_card_statement()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.version <= old.version then
    raise exception 'statement % of account % is not newer than %', new.version, new.account_id, old.version
      using errcode = 'check_violation', constraint = 'health_card_statements_ascend';
  end if;
  return new;
end $function$;
alter function guard_health_card_statement() owner to eligo_owner;
grant execute on function guard_health_card_statement() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_idempotency_key()
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
grant execute on function guard_idempotency_key() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_ineligible_charge()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  is_health boolean;
begin
  select m.hsa_fsa into is_health from checkout.payment_methods m
   where m.account_id = new.account_id and m.test_mode = new.test_mode and m.id = new.payment_method_id;
  if is_health is distinct from false then
    raise exception 'card % may be a health card: it pays eligible amounts only', new.payment_method_id
      using errcode = 'check_violation', constraint = 'ineligible_only_on_other_cards';
  end if;
  return new;
end $function$;
alter function guard_ineligible_charge() owner to eligo_owner;
grant execute on function guard_ineligible_charge() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_intent_amount()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if not (old.status = 'processing' and new.status = 'requires_capture' and new.leg = 'health' and new.amount_cents < old.amount_cents) then
    raise exception 'the amount of payment intent % does not change', old.id
      using errcode = 'check_violation', constraint = 'intent_amount_is_final';
  end if;
  return new;
end $function$;
alter function guard_intent_amount() owner to eligo_owner;
grant execute on function guard_intent_amount() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_intent_operation()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  hold record;
begin
  select i.amount_capturable_cents as capturable, i.amount_received_cents as received into hold from checkout.payment_intents i
   where i.account_id = new.account_id and i.test_mode = new.test_mode and i.id = new.payment_intent_id;
  if new.capture_id is not null and (new.amount_cents > hold.capturable or new.received_before_cents <> hold.received
      or (not new.ends_hold and new.amount_cents = hold.capturable)) then
    raise exception 'operation % takes % of a hold of %', new.id, new.amount_cents, hold.capturable
      using errcode = 'check_violation', constraint = 'operation_within_hold';
  end if;
  return new;
end $function$;
alter function guard_intent_operation() owner to eligo_owner;
grant execute on function guard_intent_operation() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_letter()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  -- The moves of domain/letter.ts; a test tries every pair in both.
  if new.status <> old.status and (old.status, new.status) not in (
    ('in_review', 'approved'), ('in_review', 'denied'), ('in_review', 'expired')
  ) then
    raise exception 'a letter does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'letter_state_table';
  end if;
  if (new.session_id, new.product_id, new.customer_id, new.created_at)
     is distinct from
     (old.session_id, old.product_id, old.customer_id, old.created_at)
     or new.review_until > old.review_until or (old.status <> 'in_review' and new.review_until <> old.review_until)
     or (old.status <> 'in_review'
       and (new.valid_until, new.decided_at, new.reviewer_id, new.reviewer_name, new.reviewer_license, new.reviewer_state)
       is distinct from
       (old.valid_until, old.decided_at, old.reviewer_id, old.reviewer_name, old.reviewer_license, old.reviewer_state))
     or (new.test_clock_id is distinct from old.test_clock_id and (new.test_clock_id is not null or not exists (
       select from checkout.test_clocks c
        where c.account_id = old.account_id and c.test_mode = old.test_mode and c.id = old.test_clock_id and c.deleted_at is not null))) then
    raise exception 'what a letter is for and how it was decided does not change'
      using errcode = 'check_violation', constraint = 'letter_is_final';
  end if;
  -- No API key decides a live letter: a person does, whose credential is not revoked.
  if new.status <> old.status and new.status in ('approved', 'denied') and (not new.test_mode or new.reviewer_id is not null)
     and not exists (
       select from checkout.reviewers r
        where r.id = new.reviewer_id and r.revoked_at is null
          and (r.name, r.license, r.state) = (new.reviewer_name, new.reviewer_license, new.reviewer_state)) then
    raise exception 'letter % is decided by no reviewer', old.id
      using errcode = 'check_violation', constraint = 'live_letter_has_reviewer';
  end if;
  return new;
end $function$;
alter function guard_letter() owner to eligo_owner;
grant execute on function guard_letter() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_letter_answers()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  owner text;
  session text;
begin
  select s.customer_id, s.id into owner, session from checkout.letters l
    join checkout.sessions s on s.account_id = l.account_id and s.test_mode = l.test_mode and s.id = l.session_id
   where l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.letter_id for key share of s;
  if owner is null then
    if exists (
      select from checkout.guest_erasures e
       where e.account_id = new.account_id and e.test_mode = new.test_mode and e.session_id = session collate "C"
    ) then
      raise exception 'letter % is of an erased guest', new.letter_id
        using errcode = 'check_violation', constraint = 'no_answers_for_an_erased_guest';
    end if;
  elsif exists (
    select from checkout.customers c
     where c.account_id = new.account_id and c.test_mode = new.test_mode and c.id = owner collate "C" and c.deleted_at is not null
  ) then
    raise exception 'letter % is of a deleted customer', new.letter_id
      using errcode = 'check_violation', constraint = 'no_answers_for_a_deleted_customer';
  end if;
  return new;
end $function$;
alter function guard_letter_answers() owner to eligo_owner;
grant execute on function guard_letter_answers() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_letter_fee_of_line()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
begin
  if new.letter_fee_given_back_cents > old.letter_fee_given_back_cents then
    broken := case
      when old.letter_fee_given_back_cents > 0 then 'letter_fee_is_given_back_once'
      when new.letter_fee_given_back_cents > new.amount_captured_cents - new.amount_refunded_cents then 'letter_fee_was_captured'
    end;
  elsif new.letter_fee_given_back_cents <> new.letter_fee_refunded_cents then
    broken := 'letter_fee_is_kept_where_its_refund_failed';
  end if;
  if broken is not null then
    raise exception 'of the letter fee of line % is given back %, and was %', new.id, new.letter_fee_given_back_cents,
      old.letter_fee_given_back_cents using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_letter_fee_of_line() owner to eligo_owner;
grant execute on function guard_letter_fee_of_line() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_line_tender()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  whole record;
begin
  select i.leg, i.session_id, i.status, l.session_id as line_session_id, l.amount_eligible_cents as eligible into whole
    from checkout.payment_intents i, checkout.session_lines l
   where i.account_id = new.account_id and i.test_mode = new.test_mode and i.id = new.payment_intent_id
     and l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.line_id;
  if whole.session_id is distinct from new.session_id or whole.line_session_id is distinct from new.session_id
      or whole.status <> 'requires_capture' then
    raise exception 'line % is not held on payment intent %', new.line_id, new.payment_intent_id
      using errcode = 'check_violation', constraint = 'tender_is_of_a_hold';
  end if;
  if whole.leg = 'health' and new.amount_cents > whole.eligible then
    raise exception 'the health card pays % of line %', new.amount_cents, new.line_id
      using errcode = 'check_violation', constraint = 'health_tender_is_eligible';
  end if;
  return new;
end $function$;
alter function guard_line_tender() owner to eligo_owner;
grant execute on function guard_line_tender() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_payment_intent()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
begin
  -- The moves of domain/payment-intent.ts: a captured or canceled intent stays so, and a hold ends in one of the two.
  if tg_op = 'UPDATE' and new.status <> old.status and (
    old.status in ('succeeded', 'canceled') or (old.status = 'requires_capture' and new.status not in ('succeeded', 'canceled'))
  ) then
    raise exception 'a payment intent does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'payment_intent_state_table';
  end if;
  broken := case
    when not (new.leg in ('health', 'other')) then 'payment_intents_leg_check'
    when not (new.capture_method in ('automatic', 'manual')) then 'payment_intents_capture_method_check'
    when not (new.status in ('requires_payment_method', 'requires_action', 'processing', 'requires_capture', 'succeeded',
      'canceled')) then 'payment_intents_status_check'
    when not (new.amount_cents between 50 and 9007199254740991) then 'payment_intents_amount_cents_check'
    when not (new.amount_capturable_cents >= 0) then 'payment_intents_amount_capturable_cents_check'
    when not (new.amount_received_cents >= 0) then 'payment_intents_amount_received_cents_check'
    when not (new.amount_refunded_cents >= 0) then 'payment_intents_amount_refunded_cents_check'
    when not (new.session_id is not null or new.invoice_id is not null) then 'payment_intents_has_subject'
    when not (new.amount_received_cents + new.amount_capturable_cents <= new.amount_cents)
      then 'payment_intents_received_within_amount'
    when not (new.amount_refunded_cents <= new.amount_received_cents) then 'payment_intents_refunded_within_received'
    when not ((new.amount_received_cents > 0) = (new.status = 'succeeded')
      or (new.amount_received_cents > 0 and new.status = 'requires_capture')) then 'payment_intents_received_when_succeeded'
  end;
  if broken is not null then
    raise exception 'payment intent % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_payment_intent() owner to eligo_owner;
grant execute on function guard_payment_intent() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_places()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  declare
    taken bigint;
  begin
    select p.last_seq into taken from "checkout".outbox_positions p order by p.minute desc limit 1;
    if new.first_seq <= taken then
      raise exception 'place % of the stream is taken, up to %', new.first_seq, taken
        using errcode = 'unique_violation', constraint = 'places_ascend';
    end if;
    return new;
  end
  $function$;
alter function guard_places() owner to eligo_owner;
grant execute on function guard_places() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_processor_account()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (new.processor is null) <> (new.processor_account is null) then
    raise exception 'a processor and its account are stored together'
      using errcode = 'check_violation', constraint = 'processor_account_is_whole';
  end if;
  if new.test_mode and new.processor <> 'sandbox' then
    raise exception 'test mode uses the sandbox alone' using errcode = 'check_violation', constraint = 'test_mode_is_at_the_sandbox';
  end if;
  if tg_op = 'UPDATE' and tg_table_name not in ('customers', 'setup_intents') and old.processor is not null
     and (new.processor, new.processor_account) is distinct from (old.processor, old.processor_account) then
    raise exception 'what is at a processor account stays there'
      using errcode = 'check_violation', constraint = 'processor_account_is_final';
  end if;
  return new;
end $function$;
alter function guard_processor_account() owner to eligo_owner;
grant execute on function guard_processor_account() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_refund_reservation()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text := case
    when not (new.amount_cents > 0) then 'refund_reservations_amount_cents_check'
    when not (new.tax_cents >= 0) then 'refund_reservations_tax_cents_check'
    when not (new.shipping_cents >= 0) then 'refund_reservations_shipping_cents_check'
    when not (new.discount_cents >= 0) then 'refund_reservations_discount_cents_check'
    when not (new.session_id is not null or new.payment_intent_id is not null) then 'refund_reservations_check'
  end;
begin
  if broken is not null then
    raise exception 'the reservation of % violates %', new.refund_id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_refund_reservation() owner to eligo_owner;
grant execute on function guard_refund_reservation() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_session()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
begin
  if tg_op = 'UPDATE' then
    -- The moves are those of domain/session-states.ts; a test tries every pair in both. A session is open again with a new version of its split alone.
    if new.status <> old.status and (old.status, new.status) not in (
      ('open', 'paid'), ('open', 'complete'), ('open', 'canceled'), ('open', 'expired'),
      ('paid', 'complete'), ('paid', 'canceled')
    ) and not ((old.status, new.status) = ('paid', 'open') and new.split_cart_id is distinct from old.split_cart_id) then
      raise exception 'a session does not move from % to %', old.status, new.status
        using errcode = 'check_violation', constraint = 'session_state_table';
    end if;
    if (new.mode, new.amount_subtotal_cents, new.amount_tax_cents, new.amount_shipping_cents, new.amount_fee_cents)
       is distinct from
       (old.mode, old.amount_subtotal_cents, old.amount_tax_cents, old.amount_shipping_cents, old.amount_fee_cents)
       or (new.amount_discount_cents, new.amount_total_cents, new.amount_iias_cents,
        new.amount_prescription_cents, new.amount_vision_cents, new.amount_service_cents, new.entered_discount_id)
       is distinct from
       (old.amount_discount_cents, old.amount_total_cents, old.amount_iias_cents,
        old.amount_prescription_cents, old.amount_vision_cents, old.amount_service_cents, old.entered_discount_id)
       and not ((old.status, new.status) = ('open', 'open') and checkout.is_repriced(new.account_id, new.test_mode, new.id)) then
      raise exception 'a session''s split does not change'
        using errcode = 'check_violation', constraint = 'session_split_is_final';
    end if;
    if (new.amount_eligible_cents, new.letter_required, new.split_cart_id)
       is distinct from (old.amount_eligible_cents, old.letter_required, old.split_cart_id) then
      if not ((old.status, new.status) = ('paid', 'open') and not new.letter_required and new.amount_received_cents = 0
          and new.amount_eligible_cents between new.amount_iias_cents + new.amount_prescription_cents + new.amount_vision_cents
            + new.amount_service_cents and old.amount_eligible_cents
          and exists (
            select from checkout.session_split_versions v
             where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.id and v.id = new.split_cart_id
               and v.version > 1 and v.xmin = pg_current_xact_id()::xid))
        and not ((old.status, new.status) = ('open', 'open') and new.letter_required = old.letter_required
          and new.split_cart_id is not distinct from old.split_cart_id
          and checkout.is_repriced(new.account_id, new.test_mode, new.id)) then
        raise exception 'a session''s split does not change without a new version'
          using errcode = 'check_violation', constraint = 'session_split_is_final';
      end if;
    end if;
  else
    broken := case
      when not (new.status in ('open', 'paid', 'complete', 'canceled', 'expired')) then 'sessions_status_check'
      when not (new.mode in ('payment', 'subscription', 'off_session', 'setup', 'reimbursement')) then 'sessions_mode_check'
      when not (new.amount_subtotal_cents >= 0) then 'sessions_amount_subtotal_cents_check'
      when not (new.amount_discount_cents between 0 and new.amount_subtotal_cents) then 'sessions_check'
      when not (new.amount_tax_cents >= 0) then 'sessions_amount_tax_cents_check'
      when not (new.amount_shipping_cents >= 0) then 'sessions_amount_shipping_cents_check'
      when not (new.amount_fee_cents >= 0) then 'sessions_amount_fee_cents_check'
      when not (new.amount_iias_cents >= 0) then 'sessions_amount_iias_cents_check'
      when not (new.amount_prescription_cents >= 0) then 'sessions_amount_prescription_cents_check'
      when not (new.amount_vision_cents >= 0) then 'sessions_amount_vision_cents_check'
      when not (new.amount_service_cents >= 0) then 'sessions_amount_service_cents_check'
      when not (new.amount_total_cents = new.amount_subtotal_cents - new.amount_discount_cents + new.amount_tax_cents
        + new.amount_shipping_cents + new.amount_fee_cents) then 'total_is_the_sum_of_its_parts'
      when not (new.amount_eligible_cents between 0 and new.amount_total_cents) then 'eligible_within_total'
      when not (new.amount_iias_cents + new.amount_prescription_cents + new.amount_vision_cents
        + new.amount_service_cents <= new.amount_eligible_cents) then 'buckets_within_eligible'
    end;
  end if;
  broken := coalesce(broken, case
    when not (new.capture_method in ('automatic', 'manual')) then 'sessions_capture_method_check'
    when not (new.letter_fee_cents >= 0) then 'sessions_letter_fee_cents_check'
    when not (new.amount_received_cents between 0 and new.amount_total_cents) then 'received_within_total'
    when not (new.amount_refunded_cents between 0 and new.amount_received_cents) then 'refunded_within_received'
    when not (new.amount_disputed_cents between 0 and new.amount_received_cents) then 'disputed_within_received'
    when not (new.captured_tax_cents between 0 and new.amount_tax_cents
      and new.captured_shipping_cents between 0 and new.amount_shipping_cents
      and new.captured_discount_cents between 0 and new.amount_discount_cents) then 'sessions_captured_components'
    when not (new.refunded_tax_cents between 0 and new.captured_tax_cents) then 'sessions_refunded_tax'
    when not (new.refunded_shipping_cents between 0 and new.captured_shipping_cents) then 'sessions_refunded_shipping'
    when not (new.refunded_discount_cents between 0 and new.captured_discount_cents) then 'sessions_refunded_discount'
  end);
  if broken is not null then
    raise exception 'session % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_session() owner to eligo_owner;
grant execute on function guard_session() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_session_line()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
begin
  if tg_op = 'UPDATE' then
    if (new.session_id, new.id, new.position, new.price_id, new.product_id, new.quantity, new.unit_amount_cents,
        new.amount_subtotal_cents, new.recurring_interval, new.recurring_interval_count, new.recurring_trial_days)
       is distinct from
       (old.session_id, old.id, old.position, old.price_id, old.product_id, old.quantity, old.unit_amount_cents,
        old.amount_subtotal_cents, old.recurring_interval, old.recurring_interval_count, old.recurring_trial_days)
       or (new.amount_discount_cents, new.amount_tax_cents, new.amount_shipping_cents, new.amount_fee_cents, new.amount_total_cents)
       is distinct from
       (old.amount_discount_cents, old.amount_tax_cents, old.amount_shipping_cents, old.amount_fee_cents, old.amount_total_cents)
       and not checkout.is_repriced(new.account_id, new.test_mode, new.session_id) then
      raise exception 'a line''s split does not change'
        using errcode = 'check_violation', constraint = 'session_split_is_final';
    end if;
    if (new.amount_eligible_cents, new.eligibility_class) is distinct from (old.amount_eligible_cents, old.eligibility_class) then
      if not (new.amount_eligible_cents = 0 and new.eligibility_class = 'not_eligible' and exists (
          select from checkout.session_split_lines v
           where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.line_id = new.id
             and v.version > 1 and v.amount_eligible_cents = 0 and v.eligibility_class = 'not_eligible'
             and v.xmin = pg_current_xact_id()::xid))
        and not (new.eligibility_class is not distinct from old.eligibility_class
          and checkout.is_repriced(new.account_id, new.test_mode, new.session_id)) then
        raise exception 'a line''s split does not change without a new version'
          using errcode = 'check_violation', constraint = 'session_split_is_final';
      end if;
    end if;
  else
    broken := case
      when not (new.position >= 0) then 'session_lines_position_check'
      when not (new.quantity >= 1) then 'session_lines_quantity_check'
      when not (new.unit_amount_cents >= 0) then 'session_lines_unit_amount_cents_check'
      when not (new.amount_tax_cents >= 0) then 'session_lines_amount_tax_cents_check'
      when not (new.amount_shipping_cents >= 0) then 'session_lines_amount_shipping_cents_check'
      when not (new.amount_fee_cents >= 0) then 'session_lines_amount_fee_cents_check'
      when not (new.recurring_interval in ('day', 'week', 'month', 'year')) then 'session_lines_recurring_interval_check'
      when not (new.recurring_interval_count >= 1) then 'session_lines_recurring_interval_count_check'
      when not (new.recurring_trial_days >= 0) then 'session_lines_recurring_trial_days_check'
      when not ((new.recurring_interval is null) = (new.recurring_interval_count is null)) then 'recurring_is_whole'
      when not (new.amount_subtotal_cents = new.unit_amount_cents * new.quantity)
        then 'line_subtotal_is_price_times_quantity'
      when not (new.amount_discount_cents between 0 and new.amount_subtotal_cents) then 'no_line_below_zero'
      when not (new.amount_total_cents = new.amount_subtotal_cents - new.amount_discount_cents + new.amount_tax_cents
        + new.amount_shipping_cents + new.amount_fee_cents) then 'line_total_is_the_sum_of_its_parts'
      when not (new.amount_eligible_cents in (0, new.amount_total_cents)) then 'line_is_eligible_whole_or_not_at_all'
      when not (new.amount_eligible_cents = 0
        or (new.eligibility_class is not null and new.eligibility_class <> 'not_eligible')) then 'eligible_line_has_a_class'
    end;
  end if;
  broken := coalesce(broken, case
    when not (new.amount_captured_cents between 0 and new.amount_total_cents) then 'line_captured_within_total'
    when not (new.amount_refunded_cents between 0 and new.amount_captured_cents) then 'line_refunded_within_captured'
  end);
  if broken is not null then
    raise exception 'line % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_session_line() owner to eligo_owner;
grant execute on function guard_session_line() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_subscription_set_up()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  -- The moves of domain/subscription-set-up.ts; a test tries every pair in both.
  if new.status <> old.status and (old.status, new.status) not in (
    ('beginning', 'waiting'), ('beginning', 'saved'), ('beginning', 'canceled'), ('waiting', 'saved'), ('waiting', 'canceled')
  ) then
    raise exception 'a set-up does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'set_up_state_table';
  end if;
  if (new.setup_intent_id, new.customer_id, new.processor, new.processor_account, new.created_at)
     is distinct from (old.setup_intent_id, old.customer_id, old.processor, old.processor_account, old.created_at)
     or new.payment_method_id is distinct from old.payment_method_id
     or (old.processor_setup_intent_id is not null and new.processor_setup_intent_id is distinct from old.processor_setup_intent_id)
     or (old.status in ('saved', 'canceled') and new.saved_payment_method_id is distinct from old.saved_payment_method_id) then
    raise exception 'the set-up of subscription % stays what it is', old.subscription_id
      using errcode = 'check_violation', constraint = 'one_set_up_of_a_subscription';
  end if;
  if new.status = 'saved' and old.status <> 'saved' then
    if exists (
      select from checkout.customers c
      where c.account_id = new.account_id and c.test_mode = new.test_mode and c.id = new.customer_id and c.deleted_at is not null
    ) then
      raise exception 'the customer of the set-up of subscription % was deleted', new.subscription_id
        using errcode = 'check_violation', constraint = 'no_card_saved_for_a_deleted_customer';
    end if;
  end if;
  return new;
end $function$;
alter function guard_subscription_set_up() owner to eligo_owner;
grant execute on function guard_subscription_set_up() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_tender_card()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.captured_cents <> 0 or not exists (
    select from checkout.payment_intents i
     where i.account_id = new.account_id and i.test_mode = new.test_mode and i.id = new.payment_intent_id
       and i.session_id = new.session_id and i.renews = old.payment_intent_id and i.status = 'requires_capture'
  ) then
    raise exception 'line % is not held on payment intent %', new.line_id, new.payment_intent_id
      using errcode = 'check_violation', constraint = 'tender_is_of_a_hold';
  end if;
  return new;
end $function$;
alter function guard_tender_card() owner to eligo_owner;
grant execute on function guard_tender_card() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.guard_typed_card()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  owner text;
begin
  select s.customer_id into owner from checkout.sessions s
   where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.session_id for key share;
  if owner is not null then
    if exists (
      select from checkout.customers c
       where c.account_id = new.account_id and c.test_mode = new.test_mode and c.id = owner collate "C" and c.deleted_at is not null
    ) then
      raise exception 'session % is of a deleted customer', new.session_id
        using errcode = 'check_violation', constraint = 'no_card_for_a_deleted_customer';
    end if;
  end if;
  return new;
end $function$;
alter function guard_typed_card() owner to eligo_owner;
grant execute on function guard_typed_card() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.hold_turns(at timestamp with time zone, after_account text, after_mode boolean, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, is_due boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
declare
  few constant integer := 200;
  is_backlog boolean;
begin
  select count(*) = few into is_backlog from (
    select from checkout.payment_intents i where i.status = 'requires_capture' and i.hold_check_at <= at limit few) due;
  if not is_backlog then
    return query
      select d.account_id, d.test_mode, true from (
        select i.account_id, i.test_mode from checkout.payment_intents i
         where i.status = 'requires_capture' and i.hold_check_at <= at order by i.hold_check_at limit few) d
       where (d.account_id, d.test_mode) > (after_account collate "C", after_mode)
       group by d.account_id, d.test_mode order by d.account_id, d.test_mode limit most;
    return;
  end if;
  return query
    with recursive turns as (
      (select i.account_id, i.test_mode, i.hold_check_at, 1 as turn from checkout.payment_intents i
        where i.status = 'requires_capture' and (i.account_id, i.test_mode) > (after_account collate "C", after_mode)
        order by i.account_id, i.test_mode, i.hold_check_at limit 1)
      union all
      select n.account_id, n.test_mode, n.hold_check_at, t.turn + 1 from turns t cross join lateral (
        select i.account_id, i.test_mode, i.hold_check_at from checkout.payment_intents i
         where i.status = 'requires_capture' and (i.account_id, i.test_mode) > (t.account_id, t.test_mode)
         order by i.account_id, i.test_mode, i.hold_check_at limit 1) n
       where t.turn < most
    )
    select t.account_id, t.test_mode, t.hold_check_at <= at from turns t;
end $function$;
alter function hold_turns(at timestamp with time zone, after_account text, after_mode boolean, most integer) owner to eligo_finder;
grant execute on function hold_turns(at timestamp with time zone, after_account text, after_mode boolean, most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.id_tells_time(id text, created_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((id ~ '^fcs_[0-7][0-9a-hjkmnp-tv-z]{25}$'::text) AND (abs(((((((((((((strpos('0123456789abcdefghjkmnpqrstvwxyz'::text, substr(id, 5, 1)) - 1) * '35184372088832'::bigint) + ((strpos('0123456789abcdefghjkmnpqrstvwxyz'::text, substr(id, 6, 1)) - 1) * '1099511627776'::bigint)) + ((strpos('0123456789abcdefghjkmnpqrstvwxyz'::text, substr(id, 7, 1)) - 1) * '34359738368'::bigint)) + ((strpos('0123456789abcdefghjkmnpqrstvwxyz'::text, substr(id, 8, 1)) - 1) * (1073741824)::bigint)) + ((strpos('0123456789abcdefghjkmnpqrstvwxyz'::text, substr(id, 9, 1)) - 1) * (33554432)::bigint)) + ((strpos('0123456789abcdefghjkmnpqrstvwxyz'::text, substr(id, 10, 1)) - 1) * (1048576)::bigint)) + ((strpos('0123456789abcdefghjkmnpqrstvwxyz'::text, substr(id, 11, 1)) - 1) * (32768)::bigint)) + ((strpos('0123456789abcdefghjkmnpqrstvwxyz'::text, substr(id, 12, 1)) - 1) * (1024)::bigint)) + ((strpos('0123456789abcdefghjkmnpqrstvwxyz'::text, substr(id, 13, 1)) - 1) * (32)::bigint)) + ((strpos('0123456789abcdefghjkmnpqrstvwxyz'::text, substr(id, 14, 1)) - 1) * (1)::bigint)) - (floor((EXTRACT(epoch FROM (created_at - '1970-01-01 00:00:00+00'::timestamp with time zone)) * (1000)::numeric)))::bigint)) <= 10000));
alter function id_tells_time(id text, created_at timestamp with time zone) owner to eligo_owner;
grant execute on function id_tells_time(id text, created_at timestamp with time zone) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.is_charging(in_account text, in_test_mode boolean, session text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select exists (
    select from checkout.charge_attempts a
     where a.account_id = in_account and a.test_mode = in_test_mode and a.purpose = 'session' and a.subject_id = session
       and (a.status in ('sending', 'unknown') or (a.status = 'created' and a.lease_until >= now())
         or (a.status = 'succeeded' and a.capture_method = 'automatic')))
$function$;
alter function is_charging(in_account text, in_test_mode boolean, session text) owner to eligo_finder;
grant execute on function is_charging(in_account text, in_test_mode boolean, session text) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.is_repriced(account text, mode boolean, session text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  return exists (
    select from checkout.session_repricings r
     where r.account_id = account and r.test_mode = mode and r.session_id = session and r.xmin = pg_current_xact_id()::xid);
end $function$;
alter function is_repriced(account text, mode boolean, session text) owner to eligo_owner;
grant execute on function is_repriced(account text, mode boolean, session text) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.journal_lag_seconds()
 RETURNS double precision
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select greatest(0, extract(epoch from clock_timestamp() - (select e.tell_at from checkout.ledger_entries e
    where e.tell_at > '2020-01-02' and e.kind = 'capture' order by e.tell_at limit 1)))
$function$;
alter function journal_lag_seconds() owner to eligo_finder;
grant execute on function journal_lag_seconds() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.journal_turns(after_account text, after_mode boolean, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, is_due boolean)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  with recursive turns as (
    (select e.account_id, e.test_mode, e.tell_at, 1 as turn from checkout.ledger_entries e
      where e.tell_at is not null and e.kind = 'capture' and (e.account_id, e.test_mode) > (after_account collate "C", after_mode)
      order by e.account_id, e.test_mode, e.tell_at limit 1)
    union all
    select n.account_id, n.test_mode, n.tell_at, t.turn + 1 from turns t cross join lateral (
      select e.account_id, e.test_mode, e.tell_at from checkout.ledger_entries e
       where e.tell_at is not null and e.kind = 'capture' and (e.account_id, e.test_mode) > (t.account_id, t.test_mode)
       order by e.account_id, e.test_mode, e.tell_at limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, t.tell_at <= now() from turns t
$function$;
alter function journal_turns(after_account text, after_mode boolean, most integer) owner to eligo_finder;
grant execute on function journal_turns(after_account text, after_mode boolean, most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.leave_deleted_clock()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
begin
  if exists (
    select from test_clocks c
     where c.account_id = new.account_id and c.test_mode = new.test_mode and c.id = new.test_clock_id and c.deleted_at is not null) then
    new.test_clock_id := null;
  end if;
  return new;
end $function$;
alter function leave_deleted_clock() owner to eligo_owner;
grant execute on function leave_deleted_clock() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.letters_to_announce(at timestamp with time zone, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select l.account_id, l.test_mode, l.id from checkout.letters l
   where l.status = 'approved' and l.end_announced_at is null and l.customer_id is not null and l.test_clock_id is null
     and l.valid_until > at and l.valid_until <= at + interval '30 days'
   order by l.valid_until limit most
$function$;
alter function letters_to_announce(at timestamp with time zone, most integer) owner to eligo_finder;
grant execute on function letters_to_announce(at timestamp with time zone, most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.letters_to_announce_on_clocks(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select d.account_id, d.test_mode, d.id
    from checkout.test_clocks c
    cross join lateral (
      select l.account_id, l.test_mode, l.id from checkout.letters l
       where l.account_id = c.account_id and l.test_mode = c.test_mode and l.test_clock_id = c.id
         and l.status = 'approved' and l.end_announced_at is null and l.customer_id is not null
         and l.valid_until <= c.frozen_time + interval '30 days'
       order by l.valid_until limit 20
    ) d
   where c.unsettled and c.deleted_at is null
   limit most
$function$;
alter function letters_to_announce_on_clocks(most integer) owner to eligo_finder;
grant execute on function letters_to_announce_on_clocks(most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.letters_to_review(of_test_mode boolean, most integer, after_until timestamp with time zone, after_id text)
 RETURNS TABLE(account_id text, test_mode boolean, id text, review_until timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select l.account_id, l.test_mode, l.id, l.review_until from checkout.letters l
   where l.status = 'in_review' and l.test_mode = of_test_mode
     and l.review_until >= after_until and (l.review_until, l.id) > (after_until, after_id)
   order by l.review_until, l.id limit most
$function$;
alter function letters_to_review(of_test_mode boolean, most integer, after_until timestamp with time zone, after_id text) owner to eligo_finder;
grant execute on function letters_to_review(of_test_mode boolean, most integer, after_until timestamp with time zone, after_id text) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.next_catalog_task()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select t.due_at from checkout.catalog_tasks t order by t.due_at limit 1
$function$;
alter function next_catalog_task() owner to eligo_finder;
grant execute on function next_catalog_task() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.next_charge_work()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select least(
    (select least(min(greatest(d.next_check_at, d.lease_until)), case when count(*) = 100 then max(d.next_check_at) end) from (
      select a.next_check_at, a.lease_until from checkout.charge_attempts a
       where a.status = 'sending' order by a.next_check_at limit 100) d),
    (select least(min(greatest(d.next_check_at, d.lease_until)), case when count(*) = 100 then max(d.next_check_at) end) from (
      select a.next_check_at, a.lease_until from checkout.charge_attempts a
       where a.status = 'unknown' order by a.next_check_at limit 100) d),
    (select least(min(greatest(d.next_check_at, d.lease_until + interval '3 seconds')),
        case when count(*) = 100 then max(d.next_check_at) end) from (
      select a.next_check_at, a.lease_until from checkout.charge_attempts a
       where a.status = 'created' and a.driver <> 'invoice' and not (a.driver = 'page' and exists (
         select from checkout.payment_plans p
          where p.account_id = a.account_id and p.test_mode = a.test_mode and p.session_id = a.subject_id
            and p.state in ('running', 'releasing')))
       order by a.next_check_at limit 100) d),
    (select least(min(greatest(d.next_check_at, d.lease_until)), case when count(*) = 100 then max(d.next_check_at) end) from (
      select o.next_check_at, o.lease_until from checkout.intent_operations o
       where o.status = 'pending' order by o.next_check_at limit 100) d),
    (select least(min(greatest(d.next_check_at, d.lease_until)), case when count(*) = 100 then max(d.next_check_at) end) from (
      select p.next_check_at, p.lease_until from checkout.payment_plans p
       where p.state in ('running', 'releasing') order by p.next_check_at limit 100) d),
    (select p.release_at from checkout.payment_plans p where p.state = 'awaiting_second_card' order by p.release_at limit 1))
$function$;
alter function next_charge_work() owner to eligo_finder;
grant execute on function next_charge_work() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.next_due_letter(after timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select l.review_until from checkout.letters l
   where l.status = 'in_review' and l.test_clock_id is null and l.review_until > after
   order by l.review_until limit 1
$function$;
alter function next_due_letter(after timestamp with time zone) owner to eligo_finder;
grant execute on function next_due_letter(after timestamp with time zone) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.next_due_session(after timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select s.expires_at from checkout.sessions s
   where s.status = 'open' and s.test_clock_id is null and s.expires_at > after
   order by s.expires_at limit 1
$function$;
alter function next_due_session(after timestamp with time zone) owner to eligo_finder;
grant execute on function next_due_session(after timestamp with time zone) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.next_hold()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select i.hold_check_at from checkout.payment_intents i where i.status = 'requires_capture' order by i.hold_check_at limit 1
$function$;
alter function next_hold() owner to eligo_finder;
grant execute on function next_hold() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.next_journal()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select e.tell_at from checkout.ledger_entries e where e.tell_at is not null and e.kind = 'capture' order by e.tell_at limit 1
$function$;
alter function next_journal() owner to eligo_finder;
grant execute on function next_journal() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.next_letter_to_announce(after timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select l.valid_until - interval '30 days' from checkout.letters l
   where l.status = 'approved' and l.end_announced_at is null and l.customer_id is not null and l.test_clock_id is null
     and l.valid_until > after + interval '30 days'
   order by l.valid_until limit 1
$function$;
alter function next_letter_to_announce(after timestamp with time zone) owner to eligo_finder;
grant execute on function next_letter_to_announce(after timestamp with time zone) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.next_set_up()
 RETURNS interval
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select s.next_check_at - now() from checkout.subscription_set_ups s where s.status in ('beginning', 'waiting') order by s.next_check_at limit 1
$function$;
alter function next_set_up() owner to eligo_finder;
grant execute on function next_set_up() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.next_without_processor(after_account text, after_mode boolean)
 RETURNS TABLE(account_id text, test_mode boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select f.account_id, f.test_mode from (
    (select m.account_id, m.test_mode from checkout.payment_methods m
      where m.processor is null and (m.account_id, m.test_mode) > (after_account, after_mode) order by m.account_id, m.test_mode limit 1)
    union all
    (select c.account_id, c.test_mode from checkout.customers c
      where c.processor is null and c.processor_customer_id is not null and (c.account_id, c.test_mode) > (after_account, after_mode)
      order by c.account_id, c.test_mode limit 1)
    union all
    (select s.account_id, s.test_mode from checkout.setup_intents s
      where s.processor is null and (s.account_id, s.test_mode) > (after_account, after_mode) order by s.account_id, s.test_mode limit 1)
    union all
    (select i.account_id, i.test_mode from checkout.payment_intents i
      where i.processor is null and (i.account_id, i.test_mode) > (after_account, after_mode) order by i.account_id, i.test_mode limit 1)
    union all
    (select a.account_id, a.test_mode from checkout.charge_attempts a
      where a.processor is null and (a.account_id, a.test_mode) > (after_account, after_mode) order by a.account_id, a.test_mode limit 1)
  ) f order by f.account_id, f.test_mode limit 1
$function$;
alter function next_without_processor(after_account text, after_mode boolean) owner to eligo_finder;
grant execute on function next_without_processor(after_account text, after_mode boolean) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.prune_events(outbox_days integer, inbox_days integer, batch integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
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
grant execute on function prune_events(outbox_days integer, inbox_days integer, batch integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.prune_idempotency_keys(batch integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
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
grant execute on function prune_idempotency_keys(batch integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.prune_processor_events(batch integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  with old as (
    select account_id, test_mode, processor, id from checkout.processor_events
    where received_at < now() - interval '45 days' order by received_at limit batch
  ), gone as (
    delete from checkout.processor_events e using old
    where (e.account_id, e.test_mode, e.processor, e.id) = (old.account_id, old.test_mode, old.processor, old.id)
    returning 1
  )
  select count(*) from gone
$function$;
alter function prune_processor_events(batch integer) owner to eligo_finder;
grant execute on function prune_processor_events(batch integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.prune_session_keys(most integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  with old as (
    select account_id, test_mode, key from checkout.session_keys
    where created_at < now() - interval '30 days' order by created_at limit most
  ), gone as (
    delete from checkout.session_keys k using old
    where (k.account_id, k.test_mode, k.key) = (old.account_id, old.test_mode, old.key) returning 1
  )
  select count(*) from gone
$function$;
alter function prune_session_keys(most integer) owner to eligo_finder;
grant execute on function prune_session_keys(most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.queue_event()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  begin
    insert into "checkout".outbox_queue (event_id) select event_id from appended;
    return null;
  end
  $function$;
alter function queue_event() owner to eligo_owner;
grant execute on function queue_event() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.refuse_capture_before()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'payment intent % holds nothing', new.id using errcode = 'check_violation', constraint = 'capture_before_of_a_hold';
end $function$;
alter function refuse_capture_before() owner to eligo_owner;
grant execute on function refuse_capture_before() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.refuse_changed_history()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the audit log of operators is append-only'
    using errcode = 'check_violation', constraint = 'operator_actions_append_only';
end $function$;
alter function refuse_changed_history() owner to eligo_owner;
grant execute on function refuse_changed_history() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.refuse_delete()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'rows of % are never deleted', tg_table_name
    using errcode = 'check_violation', constraint = 'session_split_is_final';
end $function$;
alter function refuse_delete() owner to eligo_owner;
grant execute on function refuse_delete() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.refuse_disputed_refund()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% would refund what a dispute holds: % of %, with % disputed',
    new.id, new.amount_refunded_cents, new.amount_received_cents, new.amount_disputed_cents
    using errcode = 'check_violation', constraint = 'refunded_within_undisputed';
end $function$;
alter function refuse_disputed_refund() owner to eligo_owner;
grant execute on function refuse_disputed_refund() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.refuse_fewer_declines()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.declines_on_page < old.declines_on_page or new.declines_by_request < old.declines_by_request then
    raise exception 'the declines of session % grow', old.id using errcode = 'check_violation', constraint = 'session_declines_grow';
  end if;
  return new;
end $function$;
alter function refuse_fewer_declines() owner to eligo_owner;
grant execute on function refuse_fewer_declines() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.refuse_fewer_tries()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.tries <= old.tries or new.session_id <> old.session_id then
    raise exception 'the tries of a session grow' using errcode = 'check_violation', constraint = 'promo_code_tries_grow';
  end if;
  return new;
end $function$;
alter function refuse_fewer_tries() owner to eligo_owner;
grant execute on function refuse_fewer_tries() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.refuse_fewer_typed_cards()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the count of typed cards of session % only grows', old.id using errcode = 'check_violation', constraint = 'typed_cards_grow';
end $function$;
alter function refuse_fewer_typed_cards() owner to eligo_owner;
grant execute on function refuse_fewer_typed_cards() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.refuse_more_refunds()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'session % would have % refunds', new.id, cardinality(new.refund_ids)
    using errcode = 'check_violation', constraint = 'refunds_are_bounded';
end $function$;
alter function refuse_more_refunds() owner to eligo_owner;
grant execute on function refuse_more_refunds() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.refuse_new_part()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'charge attempt % cannot begin with a part', new.id
    using errcode = 'check_violation', constraint = 'only_a_hold_accepts_a_part';
end $function$;
alter function refuse_new_part() owner to eligo_owner;
grant execute on function refuse_new_part() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.refuse_repricing_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'rows of % do not change', tg_table_name
    using errcode = 'check_violation', constraint = 'session_split_is_final';
end $function$;
alter function refuse_repricing_change() owner to eligo_owner;
grant execute on function refuse_repricing_change() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.refuse_split_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'rows of % do not change', tg_table_name
    using errcode = 'check_violation', constraint = 'session_split_is_final';
end $function$;
alter function refuse_split_change() owner to eligo_owner;
grant execute on function refuse_split_change() to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.set_up_turns(after_account text, after_mode boolean, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, is_due boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
declare
  few constant integer := 200;
  is_backlog boolean;
begin
  select count(*) = few into is_backlog from (
    select from checkout.subscription_set_ups s where s.status in ('beginning', 'waiting') and s.next_check_at <= now() limit few) due;
  if not is_backlog then
    return query
      select d.account_id, d.test_mode, true from (
        select s.account_id, s.test_mode from checkout.subscription_set_ups s
         where s.status in ('beginning', 'waiting') and s.next_check_at <= now() order by s.next_check_at limit few) d
       where (d.account_id, d.test_mode) > (after_account collate "C", after_mode)
       group by d.account_id, d.test_mode order by d.account_id, d.test_mode limit most;
    return;
  end if;
  return query
    with recursive turns as (
      (select s.account_id, s.test_mode, s.next_check_at, 1 as turn from checkout.subscription_set_ups s
        where s.status in ('beginning', 'waiting') and (s.account_id, s.test_mode) > (after_account collate "C", after_mode)
        order by s.account_id, s.test_mode, s.next_check_at limit 1)
      union all
      select n.account_id, n.test_mode, n.next_check_at, t.turn + 1 from turns t cross join lateral (
        select s.account_id, s.test_mode, s.next_check_at from checkout.subscription_set_ups s
         where s.status in ('beginning', 'waiting') and (s.account_id, s.test_mode) > (t.account_id, t.test_mode)
         order by s.account_id, s.test_mode, s.next_check_at limit 1) n
       where t.turn < most
    )
    select t.account_id, t.test_mode, t.next_check_at <= now() from turns t;
end $function$;
alter function set_up_turns(after_account text, after_mode boolean, most integer) owner to eligo_finder;
grant execute on function set_up_turns(after_account text, after_mode boolean, most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.settled_clocks(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text, frozen_time timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  select c.account_id, c.test_mode, c.id, c.frozen_time from checkout.test_clocks c
   where c.unsettled and c.deleted_at is null and (
     select true from checkout.sessions s
      where s.account_id = c.account_id and s.test_mode = c.test_mode and s.test_clock_id = c.id
        and s.status = 'open' and s.expires_at <= c.frozen_time limit 1) is null
   and (
     select true from checkout.letters l
      where l.account_id = c.account_id and l.test_mode = c.test_mode and l.test_clock_id = c.id
        and l.status = 'in_review' and l.review_until <= c.frozen_time limit 1) is null
   and (
     select true from checkout.letters l
      where l.account_id = c.account_id and l.test_mode = c.test_mode and l.test_clock_id = c.id
        and l.status = 'approved' and l.end_announced_at is null and l.customer_id is not null
        and l.valid_until <= c.frozen_time + interval '30 days' limit 1) is null
   limit most
$function$;
alter function settled_clocks(most integer) owner to eligo_finder;
grant execute on function settled_clocks(most integer) to eligo_checkout;

CREATE OR REPLACE FUNCTION checkout.wake_charge_work(before timestamp with time zone, most integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'checkout', 'pg_temp'
AS $function$
  with attempts as materialized (
    select a.account_id, a.test_mode, a.id from checkout.charge_attempts a
     where a.status = 'unknown' and a.next_check_at > now() + interval '2 seconds' and a.lease_until < before
     order by a.next_check_at limit most for no key update skip locked),
  operations as materialized (
    select o.account_id, o.test_mode, o.id from checkout.intent_operations o
     where o.status = 'pending' and o.next_check_at > now() + interval '2 seconds' and o.lease_until < before
     order by o.next_check_at limit most for no key update skip locked),
  plans as materialized (
    select p.account_id, p.test_mode, p.session_id, p.id from checkout.payment_plans p
     where p.state in ('running', 'releasing') and p.next_check_at > now() + interval '2 seconds' and p.lease_until < before
     order by p.next_check_at limit most for no key update skip locked),
  woken_attempts as (
    update checkout.charge_attempts a set next_check_at = now() from attempts w
     where (a.account_id, a.test_mode, a.id) = (w.account_id, w.test_mode, w.id) returning 1),
  woken_operations as (
    update checkout.intent_operations o set next_check_at = now() from operations w
     where (o.account_id, o.test_mode, o.id) = (w.account_id, w.test_mode, w.id) returning 1),
  woken_plans as (
    update checkout.payment_plans p set next_check_at = now() from plans w
     where (p.account_id, p.test_mode, p.session_id, p.id) = (w.account_id, w.test_mode, w.session_id, w.id) returning 1)
  select (select count(*) from woken_attempts) + (select count(*) from woken_operations) + (select count(*) from woken_plans)
$function$;
alter function wake_charge_work(before timestamp with time zone, most integer) owner to eligo_finder;
grant execute on function wake_charge_work(before timestamp with time zone, most integer) to eligo_checkout;

alter default privileges in schema checkout grant delete, insert, select, update on tables to eligo_checkout;

alter default privileges in schema checkout grant execute on functions to eligo_checkout;

alter default privileges in schema checkout grant usage on sequences to eligo_checkout;
