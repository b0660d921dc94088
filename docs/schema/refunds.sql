-- Schema refunds, as its migrations leave it.

grant create, usage on schema refunds to eligo_finder;

grant usage on schema refunds to eligo_refunds;

create type processor as enum ('sandbox', 'stripe');

create table balance_transactions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  type text collate "C" not null,
  amount_cents bigint not null,
  fee_cents bigint default 0 not null,
  net_cents bigint generated always as ((amount_cents - fee_cents)) stored not null,
  status text collate "C" not null,
  available_on timestamp(3) with time zone not null,
  source_id text collate "C" not null,
  checkout_session_id text collate "C",
  reporting_category text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  processor processor,
  processor_account text collate "C",
  processor_transaction_id text collate "C",
  settled_cents bigint default 0 not null,
  payout_id text collate "C",
  constraint balance_transactions_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint balance_transactions_payout_fkey FOREIGN KEY (account_id, test_mode, payout_id) REFERENCES payouts(account_id, test_mode, id)
);
alter table balance_transactions enable row level security;
alter table balance_transactions force row level security;
create policy own_rows on balance_transactions for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX balance_transactions_by_payout ON refunds.balance_transactions USING btree (account_id, test_mode, payout_id, id) WHERE (payout_id IS NOT NULL);
CREATE INDEX balance_transactions_by_payout_and_type ON refunds.balance_transactions USING btree (account_id, test_mode, payout_id, type, id) WHERE (payout_id IS NOT NULL);
CREATE INDEX balance_transactions_by_session ON refunds.balance_transactions USING btree (account_id, test_mode, checkout_session_id, id) WHERE (checkout_session_id IS NOT NULL);
CREATE INDEX balance_transactions_by_source ON refunds.balance_transactions USING btree (account_id, test_mode, source_id);
CREATE INDEX balance_transactions_by_type ON refunds.balance_transactions USING btree (account_id, test_mode, type, id);
CREATE TRIGGER guard_balance_transaction BEFORE INSERT OR UPDATE ON refunds.balance_transactions FOR EACH ROW EXECUTE FUNCTION guard_balance_transaction();
grant insert, select on balance_transactions to eligo_refunds;
grant update (fee_cents), update (status), update (available_on), update (processor), update (processor_account), update (processor_transaction_id), update (settled_cents), update (payout_id) on balance_transactions to eligo_refunds;

create table checked_days (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor processor not null,
  processor_account text collate "C" not null,
  day date not null,
  begins_at timestamp(3) with time zone not null,
  movements bigint not null,
  amount_cents bigint not null,
  fee_cents bigint not null,
  net_cents bigint not null,
  checked_at timestamp(3) with time zone default clock_timestamp() not null,
  differs boolean default false not null,
  constraint checked_days_pkey PRIMARY KEY (account_id, test_mode, processor, processor_account, day),
  constraint checked_days_account_id_test_mode_processor_processor_acco_fkey FOREIGN KEY (account_id, test_mode, processor, processor_account) REFERENCES ledger_feeds(account_id, test_mode, processor, processor_account),
  constraint checked_days_movements_check CHECK ((movements >= 0))
);
alter table checked_days enable row level security;
alter table checked_days force row level security;
create policy own_rows on checked_days for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX checked_days_that_differ ON refunds.checked_days USING btree (account_id, test_mode, processor, processor_account, day) WHERE differs;

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
CREATE INDEX dead_letters_by_event ON refunds.dead_letters USING btree (event_id, consumer);
CREATE INDEX dead_letters_redrive ON refunds.dead_letters USING btree (consumer, redrive_at) WHERE (redrive_at IS NOT NULL);
grant delete, insert, select, update on dead_letters to eligo_refunds;

create table dispute_movements (
  account_id text collate "C" not null,
  test_mode boolean not null,
  dispute_id text collate "C" not null,
  processor_balance_transaction_id text collate "C" not null,
  balance_transaction_id text collate "C" not null,
  amount_cents bigint not null,
  fee_cents bigint not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint dispute_movements_pkey PRIMARY KEY (account_id, test_mode, dispute_id, processor_balance_transaction_id),
  constraint dispute_movements_account_id_test_mode_dispute_id_fkey FOREIGN KEY (account_id, test_mode, dispute_id) REFERENCES disputes(account_id, test_mode, id)
);
alter table dispute_movements enable row level security;
alter table dispute_movements force row level security;
create policy own_rows on dispute_movements for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select on dispute_movements to eligo_refunds;

create table disputes (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  processor processor not null,
  processor_account text collate "C" not null,
  processor_dispute_id text collate "C" not null,
  status text collate "C",
  processor_status text collate "C",
  reason text collate "C",
  amount_cents bigint,
  currency text collate "C",
  payment_intent_id text collate "C",
  charge_id text collate "C",
  checkout_session_id text collate "C",
  evidence jsonb default '{}'::jsonb not null,
  has_evidence boolean default false not null,
  submission_count integer default 0 not null,
  due_by timestamp(3) with time zone,
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone,
  epoch bigint default 1 not null,
  lease_until timestamp(3) with time zone not null,
  checks integer default 0 not null,
  next_check_at timestamp(3) with time zone,
  constraint disputes_pkey PRIMARY KEY (account_id, test_mode, id)
);
alter table disputes enable row level security;
alter table disputes force row level security;
create policy finder_reads on disputes for select to eligo_finder
  using (true);
create policy own_rows on disputes for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX disputes_by_charge ON refunds.disputes USING btree (account_id, test_mode, charge_id, id) WHERE (charge_id IS NOT NULL);
CREATE INDEX disputes_by_intent ON refunds.disputes USING btree (account_id, test_mode, payment_intent_id, id) WHERE (payment_intent_id IS NOT NULL);
CREATE INDEX disputes_by_session ON refunds.disputes USING btree (account_id, test_mode, checkout_session_id, id) WHERE (checkout_session_id IS NOT NULL);
CREATE INDEX disputes_due ON refunds.disputes USING btree (next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE INDEX disputes_listed ON refunds.disputes USING btree (account_id, test_mode, id) WHERE (charge_id IS NOT NULL);
CREATE UNIQUE INDEX one_dispute_for_each_of_the_processor ON refunds.disputes USING btree (account_id, test_mode, processor, processor_dispute_id);
CREATE TRIGGER drop_erased_evidence BEFORE INSERT OR UPDATE OF evidence, payment_intent_id ON refunds.disputes FOR EACH ROW WHEN (((new.evidence <> '{}'::jsonb) AND (new.payment_intent_id IS NOT NULL))) EXECUTE FUNCTION drop_erased_evidence();
CREATE TRIGGER guard_dispute BEFORE INSERT OR UPDATE ON refunds.disputes FOR EACH ROW EXECUTE FUNCTION guard_dispute();
grant insert, select, update on disputes to eligo_refunds;
grant select on disputes to eligo_finder;

create table erased_intents (
  account_id text collate "C" not null,
  test_mode boolean not null,
  payment_intent_id text collate "C" not null,
  erased_at timestamp(3) with time zone default now() not null,
  constraint erased_intents_pkey PRIMARY KEY (account_id, test_mode, payment_intent_id)
);
alter table erased_intents enable row level security;
alter table erased_intents force row level security;
create policy own_rows on erased_intents for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant select on erased_intents to eligo_refunds;

create table event_lists (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor processor not null,
  processor_account text collate "C" not null,
  read_to timestamp(3) with time zone not null,
  reading_to timestamp(3) with time zone,
  reading_after text collate "C",
  epoch bigint default 0 not null,
  lease_until timestamp(3) with time zone default clock_timestamp() not null,
  next_read_at timestamp(3) with time zone not null,
  constraint event_lists_pkey PRIMARY KEY (account_id, test_mode, processor, processor_account)
);
alter table event_lists enable row level security;
alter table event_lists force row level security;
create policy finder_reads on event_lists for select to eligo_finder
  using (true);
create policy own_rows on event_lists for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX event_lists_due ON refunds.event_lists USING btree (next_read_at);
CREATE INDEX event_lists_of_processor_account ON refunds.event_lists USING btree (processor, processor_account);
CREATE INDEX event_lists_read_to ON refunds.event_lists USING btree (read_to);
CREATE TRIGGER guard_event_list BEFORE INSERT OR UPDATE ON refunds.event_lists FOR EACH ROW EXECUTE FUNCTION guard_event_list();
grant insert, select, update on event_lists to eligo_refunds;
grant select on event_lists to eligo_finder;

create table evidence_files (
  account_id text collate "C" not null,
  test_mode boolean not null,
  dispute_id text collate "C" not null,
  field text collate "C" not null,
  file_id text collate "C" not null,
  type text collate "C" not null,
  size_bytes integer not null,
  upload_key text collate "C" not null,
  attempt integer default 1 not null,
  processor_file_id text collate "C",
  content_until timestamp(3) with time zone,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  pages smallint,
  constraint evidence_files_pkey PRIMARY KEY (account_id, test_mode, dispute_id, field, file_id),
  constraint evidence_files_account_id_test_mode_dispute_id_fkey FOREIGN KEY (account_id, test_mode, dispute_id) REFERENCES disputes(account_id, test_mode, id),
  constraint evidence_files_attempt_check CHECK ((attempt > 0)),
  constraint evidence_files_field_check CHECK ((field = ANY (ARRAY['cancellation_policy'::text, 'customer_communication'::text, 'customer_signature'::text, 'duplicate_charge_documentation'::text, 'receipt'::text, 'refund_policy'::text, 'service_documentation'::text, 'shipping_documentation'::text, 'uncategorized_file'::text]))),
  constraint evidence_files_size_bytes_check CHECK (((size_bytes >= 1) AND (size_bytes <= 4500000))),
  constraint evidence_files_type_check CHECK ((type = ANY (ARRAY['pdf'::text, 'png'::text, 'jpeg'::text]))),
  constraint evidence_has_pages CHECK (((pages >= 1) AND (pages <= 50))),
  constraint no_content_waits_once_uploaded CHECK (((processor_file_id IS NULL) OR (content_until IS NULL)))
);
alter table evidence_files enable row level security;
alter table evidence_files force row level security;
create policy finder_reads on evidence_files for select to eligo_finder
  using (true);
create policy own_rows on evidence_files for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE UNIQUE INDEX evidence_files_at_the_processor ON refunds.evidence_files USING btree (account_id, test_mode, dispute_id, processor_file_id) WHERE (processor_file_id IS NOT NULL);
CREATE INDEX evidence_files_by_file ON refunds.evidence_files USING btree (account_id, test_mode, file_id);
CREATE INDEX evidence_files_to_clear ON refunds.evidence_files USING btree (content_until) WHERE (content_until IS NOT NULL);
CREATE TRIGGER guard_evidence_file BEFORE UPDATE ON refunds.evidence_files FOR EACH ROW EXECUTE FUNCTION guard_evidence_file();
CREATE TRIGGER guard_new_evidence_file BEFORE INSERT ON refunds.evidence_files FOR EACH ROW EXECUTE FUNCTION guard_new_evidence_file();
grant insert, select on evidence_files to eligo_refunds;
grant select on evidence_files to eligo_finder;
grant update (attempt), update (processor_file_id), update (content_until), update (pages) on evidence_files to eligo_refunds;

create table evidence_parts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  dispute_id text collate "C" not null,
  field text collate "C" not null,
  file_id text collate "C" not null,
  part smallint not null,
  bytes bytea not null,
  constraint evidence_parts_pkey PRIMARY KEY (account_id, test_mode, dispute_id, field, file_id, part),
  constraint evidence_parts_account_id_test_mode_dispute_id_field_file__fkey FOREIGN KEY (account_id, test_mode, dispute_id, field, file_id) REFERENCES evidence_files(account_id, test_mode, dispute_id, field, file_id),
  constraint evidence_parts_bytes_check CHECK (((length(bytes) >= 1) AND (length(bytes) <= 1048576))),
  constraint evidence_parts_part_check CHECK (((part >= 0) AND (part <= 4)))
);
alter table evidence_parts enable row level security;
alter table evidence_parts force row level security;
create policy own_rows on evidence_parts for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER guard_evidence_part BEFORE INSERT ON refunds.evidence_parts FOR EACH ROW EXECUTE FUNCTION guard_evidence_part();
grant delete, insert, select on evidence_parts to eligo_refunds;

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
create policy scope on idempotency_keys for all to eligo_refunds
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX idempotency_keys_attempt ON refunds.idempotency_keys USING btree (account_id, test_mode, attempt_id) WHERE (attempt_id IS NOT NULL);
CREATE INDEX idempotency_keys_created ON refunds.idempotency_keys USING btree (created_at);
CREATE TRIGGER guard_idempotency_key BEFORE INSERT OR UPDATE ON refunds.idempotency_keys FOR EACH ROW EXECUTE FUNCTION guard_idempotency_key();
grant delete, insert, select, update on idempotency_keys to eligo_refunds;
grant delete, select on idempotency_keys to eligo_finder;

create table inbox (
  consumer text collate "C" not null,
  event_id text collate "C" not null,
  handled_at timestamp(3) with time zone default now() not null,
  constraint inbox_pkey PRIMARY KEY (consumer, event_id)
);
grant delete, select on inbox to eligo_finder;
grant insert, select on inbox to eligo_refunds;

create table ledger_activity (
  account_id text collate "C" not null,
  test_mode boolean not null,
  day date not null,
  processor processor not null,
  processor_account text collate "C" not null,
  cause text collate "C" not null,
  type text collate "C" not null,
  reporting_category text collate "C" not null,
  transactions bigint not null,
  amount_cents bigint not null,
  fee_cents bigint not null,
  net_cents bigint not null,
  constraint ledger_activity_pkey PRIMARY KEY (account_id, test_mode, day, processor, processor_account, cause, type, reporting_category),
  constraint ledger_activity_cause_check CHECK ((cause = ANY (ARRAY['journal'::text, 'balance'::text])))
);
alter table ledger_activity enable row level security;
alter table ledger_activity force row level security;
create policy own_rows on ledger_activity for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select on ledger_activity to eligo_refunds;
grant update (transactions), update (amount_cents), update (fee_cents), update (net_cents) on ledger_activity to eligo_refunds;

create table ledger_entries (
  account_id text collate "C" not null,
  test_mode boolean not null,
  transaction_id text collate "C" not null,
  ledger_account text collate "C" not null,
  amount_cents bigint not null,
  kind text collate "C" not null,
  refund_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  credit_account text collate "C",
  post_at timestamp(3) with time zone default clock_timestamp(),
  constraint ledger_entries_pkey PRIMARY KEY (account_id, test_mode, transaction_id, ledger_account),
  constraint booked_once UNIQUE (account_id, test_mode, refund_id, payment_intent_id, kind, ledger_account)
);
alter table ledger_entries enable row level security;
alter table ledger_entries force row level security;
create policy finder_reads on ledger_entries for select to eligo_finder
  using (true);
create policy own_rows on ledger_entries for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX ledger_entries_to_post ON refunds.ledger_entries USING btree (post_at) WHERE (post_at IS NOT NULL);
CREATE INDEX ledger_entries_to_post_of_account ON refunds.ledger_entries USING btree (account_id, test_mode, post_at) WHERE (post_at IS NOT NULL);
CREATE CONSTRAINT TRIGGER check_ledger_transaction AFTER INSERT ON refunds.ledger_entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.credit_account IS NULL)) EXECUTE FUNCTION check_ledger_transaction();
CREATE TRIGGER guard_ledger_entry BEFORE INSERT OR UPDATE ON refunds.ledger_entries FOR EACH ROW EXECUTE FUNCTION guard_ledger_entry();
grant insert, select on ledger_entries to eligo_refunds;
grant select on ledger_entries to eligo_finder;
grant update (post_at) on ledger_entries to eligo_refunds;

create table ledger_feeds (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor processor not null,
  processor_account text collate "C" not null,
  begins_at timestamp(3) with time zone not null,
  read_from timestamp(3) with time zone not null,
  window_seconds integer default 86400 not null,
  next_read_at timestamp(3) with time zone not null,
  quiet_reads integer default 0 not null,
  constraint ledger_feeds_pkey PRIMARY KEY (account_id, test_mode, processor, processor_account),
  constraint ledger_feeds_window_seconds_check CHECK ((window_seconds > 0))
);
alter table ledger_feeds enable row level security;
alter table ledger_feeds force row level security;
create policy finder_reads on ledger_feeds for select to eligo_finder
  using (true);
create policy own_rows on ledger_feeds for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX ledger_feeds_due ON refunds.ledger_feeds USING btree (next_read_at);
grant insert, select, update on ledger_feeds to eligo_refunds;
grant select on ledger_feeds to eligo_finder;

create table ledger_postings (
  account_id text collate "C" not null,
  test_mode boolean not null,
  transaction_id text collate "C" not null,
  ledger_account text collate "C" not null,
  amount_cents bigint not null,
  constraint ledger_postings_pkey PRIMARY KEY (account_id, test_mode, transaction_id, ledger_account),
  constraint ledger_postings_account_id_test_mode_transaction_id_fkey FOREIGN KEY (account_id, test_mode, transaction_id) REFERENCES ledger_transactions(account_id, test_mode, id),
  constraint ledger_postings_amount_cents_check CHECK ((amount_cents <> 0)),
  constraint ledger_postings_ledger_account_check CHECK ((ledger_account = ANY (ARRAY['receivable'::text, 'processor_balance'::text, 'charges'::text, 'refunds'::text, 'refunds_payable'::text, 'fees'::text, 'application_fees'::text, 'disputes'::text, 'payouts'::text, 'suspense'::text])))
);
alter table ledger_postings enable row level security;
alter table ledger_postings force row level security;
create policy own_rows on ledger_postings for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER add_ledger_totals AFTER INSERT ON refunds.ledger_postings REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_ledger_totals();
CREATE TRIGGER check_posted_with_transaction AFTER INSERT ON refunds.ledger_postings REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION check_posted_with_transaction();
grant insert, select on ledger_postings to eligo_refunds;

create table ledger_totals (
  account_id text collate "C" not null,
  test_mode boolean not null,
  grain text collate "C" not null,
  begins_on date not null,
  processor processor not null,
  processor_account text collate "C" not null,
  ledger_account text collate "C" not null,
  amount_cents bigint not null,
  constraint ledger_totals_pkey PRIMARY KEY (account_id, test_mode, grain, begins_on, processor, processor_account, ledger_account),
  constraint ledger_totals_grain_check CHECK ((grain = ANY (ARRAY['day'::text, 'month'::text]))),
  constraint month_begins_on_its_first_day CHECK (((grain = 'day'::text) OR (EXTRACT(day FROM begins_on) = (1)::numeric)))
);
alter table ledger_totals enable row level security;
alter table ledger_totals force row level security;
create policy own_rows on ledger_totals for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select on ledger_totals to eligo_refunds;
grant update (amount_cents) on ledger_totals to eligo_refunds;

create table ledger_transactions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  kind text collate "C" not null,
  processor processor not null,
  processor_account text collate "C" not null,
  entry_id text collate "C",
  processor_transaction_id text collate "C",
  amount_cents bigint not null,
  fee_cents bigint,
  net_cents bigint,
  processor_charge_id text collate "C",
  balance_transaction_id text collate "C",
  source_id text collate "C",
  payment_intent_id text collate "C",
  occurred_at timestamp(3) with time zone not null,
  posted_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint ledger_transactions_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint ledger_transactions_kind_check CHECK ((kind = ANY (ARRAY['capture'::text, 'refund_pending'::text, 'refund_succeeded'::text, 'refund_failed'::text, 'refund_returned'::text, 'charge'::text, 'refund'::text, 'dispute'::text, 'payout'::text, 'application_fee'::text, 'other'::text, 'suspense_move'::text]))),
  constraint movement_has_fee_and_net CHECK ((((processor_transaction_id IS NULL) = (fee_cents IS NULL)) AND ((fee_cents IS NULL) = (net_cents IS NULL)))),
  constraint posted_from_one_cause CHECK (((entry_id IS NULL) <> (processor_transaction_id IS NULL)))
);
alter table ledger_transactions enable row level security;
alter table ledger_transactions force row level security;
create policy own_rows on ledger_transactions for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE UNIQUE INDEX entry_is_posted_once ON refunds.ledger_transactions USING btree (account_id, test_mode, entry_id) WHERE (entry_id IS NOT NULL);
CREATE INDEX ledger_captures_of_a_charge ON refunds.ledger_transactions USING btree (account_id, test_mode, processor_charge_id, id) WHERE ((processor_charge_id IS NOT NULL) AND (entry_id IS NOT NULL));
CREATE INDEX ledger_disputes_by_source ON refunds.ledger_transactions USING btree (account_id, test_mode, source_id) WHERE (kind = 'dispute'::text);
CREATE INDEX ledger_payouts_by_time ON refunds.ledger_transactions USING btree (account_id, test_mode, occurred_at, id) WHERE (kind = 'payout'::text);
CREATE INDEX ledger_suspense_by_time ON refunds.ledger_transactions USING btree (account_id, test_mode, occurred_at, id) WHERE ((processor_transaction_id IS NOT NULL) AND ((kind = 'other'::text) OR ((kind = ANY (ARRAY['charge'::text, 'refund'::text])) AND (source_id IS NULL)) OR (net_cents <> (amount_cents - fee_cents))));
CREATE INDEX ledger_transactions_by_balance_transaction ON refunds.ledger_transactions USING btree (account_id, test_mode, balance_transaction_id) WHERE (balance_transaction_id IS NOT NULL);
CREATE INDEX ledger_transactions_by_time ON refunds.ledger_transactions USING btree (account_id, test_mode, occurred_at);
CREATE UNIQUE INDEX movement_is_posted_once ON refunds.ledger_transactions USING btree (account_id, test_mode, processor, processor_account, processor_transaction_id) WHERE (processor_transaction_id IS NOT NULL);
CREATE TRIGGER add_ledger_activity AFTER INSERT ON refunds.ledger_transactions REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_ledger_activity();
CREATE CONSTRAINT TRIGGER check_ledger_transaction AFTER INSERT ON refunds.ledger_transactions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_ledger_postings();
grant insert, select on ledger_transactions to eligo_refunds;

create table migrations (
  id text collate "C" not null,
  checksum text not null,
  applied_at timestamp(3) with time zone default now() not null,
  constraint migrations_pkey PRIMARY KEY (id)
);
grant select on migrations to eligo_refunds;

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
CREATE INDEX operator_actions_by_account ON refunds.operator_actions USING btree (account_id, number) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_by_account_and_operator ON refunds.operator_actions USING btree (account_id, operator_name, number) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_by_operator ON refunds.operator_actions USING btree (operator_name, number);
CREATE UNIQUE INDEX operator_proof_once ON refunds.operator_actions USING btree (proof_id) WHERE (proof_id IS NOT NULL);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON refunds.operator_actions FOR EACH ROW EXECUTE FUNCTION refuse_changed_history();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON refunds.operator_actions FOR EACH STATEMENT EXECUTE FUNCTION refuse_changed_history();
grant insert (operator_id), insert (operator_name), insert (login_id), insert (action), insert (account_id), insert (test_mode), insert (subject_id), insert (request_id), insert (refused), insert (proof_id) on operator_actions to eligo_refunds;
grant select on operator_actions to eligo_refunds;

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
CREATE TRIGGER follow_published_mark AFTER UPDATE OF published_at ON refunds.outbox FOR EACH ROW WHEN ((new.published_at IS DISTINCT FROM old.published_at)) EXECUTE FUNCTION follow_published_mark();
CREATE TRIGGER queue_event AFTER INSERT ON refunds.outbox REFERENCING NEW TABLE AS appended FOR EACH STATEMENT EXECUTE FUNCTION queue_event();
grant delete, select on outbox to eligo_finder;
grant insert, select on outbox to eligo_refunds;
grant update (payload) on outbox to eligo_finder;
grant update (published_at), update (stream_seq) on outbox to eligo_refunds;

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
CREATE TRIGGER places_ascend BEFORE INSERT ON refunds.outbox_positions FOR EACH ROW EXECUTE FUNCTION guard_places();
grant delete, insert, select, update on outbox_positions to eligo_refunds;
grant delete, select on outbox_positions to eligo_finder;

create table outbox_pruned (
  only_row boolean default true not null,
  aggregate_seq bigint not null,
  event_id text collate "C" not null,
  constraint outbox_pruned_pkey PRIMARY KEY (only_row),
  constraint outbox_pruned_only_row_check CHECK (only_row)
);
grant select on outbox_pruned to eligo_refunds;
grant select, update on outbox_pruned to eligo_finder;

create table outbox_queue (
  event_id text collate "C" not null,
  queued_again_at timestamp(3) with time zone,
  constraint outbox_queue_pkey PRIMARY KEY (event_id)
);
grant delete, insert, select on outbox_queue to eligo_refunds;
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
grant insert, select on outbox_repairs to eligo_refunds;
grant select on outbox_repairs to eligo_finder;
grant update (events), update (after_event_id), update (finished_at) on outbox_repairs to eligo_refunds;

create table outbox_stream (
  stream text collate "C" not null,
  created text not null,
  constraint outbox_stream_pkey PRIMARY KEY (stream)
);
grant delete, insert, select, update on outbox_stream to eligo_refunds;

create table payouts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  processor processor not null,
  processor_account text collate "C" not null,
  processor_payout_id text collate "C" not null,
  amount_cents bigint not null,
  currency text collate "C" default 'usd'::text not null,
  status text collate "C" default 'pending'::text not null,
  arrival_at timestamp(3) with time zone,
  failure_code text collate "C",
  balance_transaction_id text collate "C",
  created_at timestamp(3) with time zone not null,
  next_look_at timestamp(3) with time zone default clock_timestamp(),
  looks integer default 0 not null,
  noted_to text collate "C",
  is_noted boolean default false not null,
  constraint payouts_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint payouts_account_id_test_mode_processor_processor_account_pr_key UNIQUE (account_id, test_mode, processor, processor_account, processor_payout_id),
  constraint failure_has_a_failed_payout CHECK (((failure_code IS NULL) OR (status = ANY (ARRAY['failed'::text, 'canceled'::text])))),
  constraint open_payout_is_looked_at CHECK (((next_look_at IS NOT NULL) OR (is_noted AND (status = ANY (ARRAY['paid'::text, 'failed'::text, 'canceled'::text]))))),
  constraint payouts_amount_cents_check CHECK ((amount_cents <> 0)),
  constraint payouts_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'in_transit'::text, 'paid'::text, 'failed'::text, 'canceled'::text]))),
  constraint test_payout_is_at_the_sandbox CHECK (((NOT test_mode) OR (processor = 'sandbox'::processor)))
);
alter table payouts enable row level security;
alter table payouts force row level security;
create policy finder_reads on payouts for select to eligo_finder
  using (true);
create policy own_rows on payouts for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX payouts_due ON refunds.payouts USING btree (next_look_at) WHERE (next_look_at IS NOT NULL);
grant insert, select on payouts to eligo_refunds;
grant select on payouts to eligo_finder;
grant update (amount_cents), update (currency), update (status), update (arrival_at), update (failure_code), update (balance_transaction_id), update (created_at), update (next_look_at), update (looks), update (noted_to), update (is_noted) on payouts to eligo_refunds;

create table processor_events (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor text collate "C" not null,
  id text collate "C" not null,
  type text collate "C" not null,
  object_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  received_at timestamp(3) with time zone default clock_timestamp() not null,
  status text collate "C" default 'waiting'::text not null,
  checks integer default 0 not null,
  next_check_at timestamp(3) with time zone default clock_timestamp(),
  settled_at timestamp(3) with time zone,
  processor_account text collate "C",
  constraint processor_events_pkey PRIMARY KEY (account_id, test_mode, processor, id)
);
alter table processor_events enable row level security;
alter table processor_events force row level security;
create policy finder_prunes on processor_events for delete to eligo_finder
  using ((settled_at < (now() - '45 days'::interval)));
create policy finder_reads on processor_events for select to eligo_finder
  using (true);
create policy finder_wakes on processor_events for update to eligo_finder
  using (true)
  with check (true);
create policy own_rows on processor_events for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX processor_events_due ON refunds.processor_events USING btree (next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE INDEX processor_events_of_object ON refunds.processor_events USING btree (account_id, test_mode, object_id) WHERE (next_check_at IS NOT NULL);
CREATE INDEX processor_events_settled ON refunds.processor_events USING btree (settled_at) WHERE (settled_at IS NOT NULL);
CREATE INDEX processor_events_waiting ON refunds.processor_events USING btree (account_id, test_mode, next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE TRIGGER guard_processor_event BEFORE INSERT OR UPDATE ON refunds.processor_events FOR EACH ROW EXECUTE FUNCTION guard_processor_event();
grant delete, select on processor_events to eligo_finder;
grant insert, select, update on processor_events to eligo_refunds;
grant update (next_check_at) on processor_events to eligo_finder;

create table processor_transactions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor processor not null,
  processor_account text collate "C" not null,
  id text collate "C" not null,
  type text collate "C" not null,
  reporting_category text collate "C" not null,
  amount_cents bigint not null,
  fee_cents bigint not null,
  application_fee_cents bigint not null,
  net_cents bigint not null,
  available_on timestamp(3) with time zone not null,
  source_id text collate "C",
  created_at timestamp(3) with time zone not null,
  read_at timestamp(3) with time zone default clock_timestamp() not null,
  match_at timestamp(3) with time zone default clock_timestamp(),
  constraint processor_transactions_pkey PRIMARY KEY (account_id, test_mode, processor, processor_account, id)
);
alter table processor_transactions enable row level security;
alter table processor_transactions force row level security;
create policy finder_reads on processor_transactions for select to eligo_finder
  using (true);
create policy own_rows on processor_transactions for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX processor_transactions_by_time ON refunds.processor_transactions USING btree (account_id, test_mode, processor, processor_account, created_at);
CREATE INDEX processor_transactions_to_match ON refunds.processor_transactions USING btree (match_at) WHERE (match_at IS NOT NULL);
CREATE INDEX processor_transactions_to_match_of_account ON refunds.processor_transactions USING btree (account_id, test_mode, match_at) WHERE (match_at IS NOT NULL);
grant insert, select on processor_transactions to eligo_refunds;
grant select on processor_transactions to eligo_finder;
grant update (match_at) on processor_transactions to eligo_refunds;

create table refund_attempts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  refund_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  processor_intent_id text not null,
  amount_cents bigint not null,
  status text collate "C" not null,
  epoch integer default 1 not null,
  lease_until timestamp(3) with time zone not null,
  sends integer default 0 not null,
  first_sent_at timestamp(3) with time zone,
  sent_at timestamp(3) with time zone,
  checks integer default 0 not null,
  next_check_at timestamp(3) with time zone not null,
  processor_refund_id text,
  failure_code text,
  created_at timestamp(3) with time zone default now() not null,
  constraint refund_attempts_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint asks_for_its_item FOREIGN KEY (account_id, test_mode, refund_id, payment_intent_id, processor_intent_id, amount_cents) REFERENCES refund_items(account_id, test_mode, refund_id, payment_intent_id, processor_intent_id, amount_cents)
);
alter table refund_attempts enable row level security;
alter table refund_attempts force row level security;
create policy finder_reads on refund_attempts for select to eligo_finder
  using (true);
create policy finder_wakes on refund_attempts for update to eligo_finder
  using (true)
  with check (true);
create policy own_rows on refund_attempts for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE UNIQUE INDEX one_attempt_for_each_processor_refund ON refunds.refund_attempts USING btree (account_id, test_mode, processor_refund_id) WHERE (processor_refund_id IS NOT NULL);
CREATE UNIQUE INDEX one_live_attempt ON refunds.refund_attempts USING btree (account_id, test_mode, refund_id, payment_intent_id) WHERE (status <> 'failed'::text);
CREATE INDEX refund_attempts_accepted ON refunds.refund_attempts USING btree (next_check_at) WHERE (status = 'accepted'::text);
CREATE INDEX refund_attempts_unsettled ON refunds.refund_attempts USING btree (next_check_at) WHERE (status = ANY (ARRAY['created'::text, 'sending'::text, 'unknown'::text]));
CREATE TRIGGER guard_refund_attempt BEFORE INSERT OR UPDATE ON refunds.refund_attempts FOR EACH ROW EXECUTE FUNCTION guard_refund_attempt();
grant insert, select, update on refund_attempts to eligo_refunds;
grant select on refund_attempts to eligo_finder;
grant update (next_check_at) on refund_attempts to eligo_finder;

create table refund_items (
  account_id text collate "C" not null,
  test_mode boolean not null,
  refund_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  "position" smallint not null,
  payment_method_id text collate "C" not null,
  charge_id text collate "C" not null,
  processor_intent_id text not null,
  amount_cents bigint not null,
  status text collate "C" not null,
  end_status text collate "C",
  returned boolean default false not null,
  failure_code text,
  reference_id text,
  reference_type text,
  reference_status text,
  epoch integer default 1 not null,
  lease_until timestamp(3) with time zone,
  checks integer default 0 not null,
  next_check_at timestamp(3) with time zone,
  processor processor,
  processor_account text collate "C",
  balance_transaction_id text collate "C",
  captures jsonb default '[]'::jsonb not null,
  constraint refund_items_pkey PRIMARY KEY (account_id, test_mode, refund_id, payment_intent_id),
  constraint refund_items_account_id_test_mode_refund_id_fkey FOREIGN KEY (account_id, test_mode, refund_id) REFERENCES refunds(account_id, test_mode, id)
);
alter table refund_items enable row level security;
alter table refund_items force row level security;
create policy finder_reads on refund_items for select to eligo_finder
  using (true);
create policy own_rows on refund_items for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE UNIQUE INDEX refund_items_as_asked ON refunds.refund_items USING btree (account_id, test_mode, refund_id, payment_intent_id, processor_intent_id, amount_cents);
CREATE INDEX refund_items_by_intent ON refunds.refund_items USING btree (account_id, test_mode, payment_intent_id, refund_id);
CREATE INDEX refund_items_due ON refunds.refund_items USING btree (next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE INDEX refund_items_without_processor ON refunds.refund_items USING btree (account_id, test_mode, refund_id) WHERE (processor IS NULL);
CREATE CONSTRAINT TRIGGER check_failed_sum AFTER UPDATE OF status ON refunds.refund_items DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.status = ANY (ARRAY['failed'::text, 'canceled'::text]))) EXECUTE FUNCTION check_failed_sum();
CREATE CONSTRAINT TRIGGER check_refund_sum AFTER INSERT ON refunds.refund_items DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_refund_sum();
CREATE TRIGGER guard_processor_account BEFORE INSERT OR UPDATE OF processor, processor_account ON refunds.refund_items FOR EACH ROW EXECUTE FUNCTION guard_processor_account();
CREATE TRIGGER guard_refund_item BEFORE INSERT OR UPDATE ON refunds.refund_items FOR EACH ROW EXECUTE FUNCTION guard_refund_item();
CREATE TRIGGER guard_refund_item_captures BEFORE INSERT ON refunds.refund_items FOR EACH ROW WHEN ((new.captures <> '[]'::jsonb)) EXECUTE FUNCTION guard_refund_item_captures();
grant insert, select on refund_items to eligo_refunds;
grant select on refund_items to eligo_finder;
grant update (status), update (end_status), update (returned), update (failure_code), update (reference_id), update (reference_type), update (reference_status), update (epoch), update (lease_until), update (checks), update (next_check_at), update (processor), update (processor_account) on refund_items to eligo_refunds;

create table refunds (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  status text collate "C" not null,
  subject_session_id text collate "C",
  subject_payment_intent_id text collate "C",
  instruction bytea not null,
  features text[] default '{}'::text[] not null,
  operation_id text collate "C",
  reason text,
  metadata jsonb default '{}'::jsonb not null,
  amount_cents bigint,
  failed_cents bigint default 0 not null,
  payment_intent_id text collate "C",
  checkout_session_id text collate "C",
  customer_id text collate "C",
  subscription_id text collate "C",
  invoice_id text collate "C",
  reference_id text,
  reference_type text,
  reference_status text,
  balance_transaction_id text collate "C",
  failure_balance_transaction_id text collate "C",
  refusal_code text collate "C",
  requested_at timestamp(3) with time zone default now() not null,
  created_at timestamp(3) with time zone,
  epoch integer default 1 not null,
  lease_until timestamp(3) with time zone,
  checks integer default 0 not null,
  next_check_at timestamp(3) with time zone,
  version bigint default 1 not null,
  constraint refunds_pkey PRIMARY KEY (account_id, test_mode, id)
);
alter table refunds enable row level security;
alter table refunds force row level security;
create policy finder_reads on refunds for select to eligo_finder
  using (true);
create policy own_rows on refunds for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE UNIQUE INDEX one_refund_for_each_operation ON refunds.refunds USING btree (account_id, test_mode, operation_id) WHERE (operation_id IS NOT NULL);
CREATE INDEX refunds_by_session ON refunds.refunds USING btree (account_id, test_mode, checkout_session_id, id) WHERE (checkout_session_id IS NOT NULL);
CREATE INDEX refunds_due ON refunds.refunds USING btree (next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE INDEX refunds_listed ON refunds.refunds USING btree (account_id, test_mode, id) WHERE (amount_cents IS NOT NULL);
CREATE TRIGGER guard_refund BEFORE INSERT OR UPDATE ON refunds.refunds FOR EACH ROW EXECUTE FUNCTION guard_refund();
grant insert, select, update on refunds to eligo_refunds;
grant select on refunds to eligo_finder;

create table suspense_moves (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  moved_transaction_id text collate "C" not null,
  ledger_account text collate "C" not null,
  amount_cents bigint not null,
  reason text not null,
  moved_by text not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint suspense_moves_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint suspense_moves_account_id_test_mode_id_fkey FOREIGN KEY (account_id, test_mode, id) REFERENCES ledger_transactions(account_id, test_mode, id) DEFERRABLE INITIALLY DEFERRED,
  constraint suspense_moves_account_id_test_mode_moved_transaction_id_fkey FOREIGN KEY (account_id, test_mode, moved_transaction_id) REFERENCES ledger_transactions(account_id, test_mode, id),
  constraint suspense_moves_amount_cents_check CHECK ((amount_cents > 0)),
  constraint suspense_moves_ledger_account_check CHECK ((ledger_account = ANY (ARRAY['receivable'::text, 'charges'::text, 'refunds'::text, 'refunds_payable'::text, 'fees'::text, 'application_fees'::text, 'disputes'::text, 'payouts'::text]))),
  constraint suspense_moves_moved_by_check CHECK (((length(btrim(moved_by)) >= 1) AND (length(btrim(moved_by)) <= 200))),
  constraint suspense_moves_reason_check CHECK (((length(btrim(reason)) >= 1) AND (length(btrim(reason)) <= 500)))
);
alter table suspense_moves enable row level security;
alter table suspense_moves force row level security;
create policy own_rows on suspense_moves for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX suspense_moves_by_time ON refunds.suspense_moves USING btree (account_id, test_mode, created_at, id);
CREATE INDEX suspense_moves_of_a_movement ON refunds.suspense_moves USING btree (account_id, test_mode, moved_transaction_id);
CREATE CONSTRAINT TRIGGER check_suspense_move AFTER INSERT ON refunds.suspense_moves DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_suspense_move();
CREATE TRIGGER guard_suspense_move BEFORE INSERT OR DELETE OR UPDATE ON refunds.suspense_moves FOR EACH ROW EXECUTE FUNCTION guard_suspense_move();
grant select on suspense_moves to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.accounts_at_processor(at_processor processor, at_account text, most integer)
 RETURNS TABLE(account_id text, test_mode boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select l.account_id, l.test_mode from refunds.event_lists l
   where l.processor = at_processor and l.processor_account = at_account collate "C" order by l.account_id, l.test_mode limit most
$function$;
alter function accounts_at_processor(at_processor processor, at_account text, most integer) owner to eligo_finder;
grant execute on function accounts_at_processor(at_processor processor, at_account text, most integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.add_ledger_activity()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into refunds.ledger_activity as k (account_id, test_mode, day, processor, processor_account, cause, type, reporting_category, transactions,
    amount_cents, fee_cents, net_cents)
  select n.account_id, n.test_mode, (n.occurred_at at time zone 'UTC')::date, n.processor, n.processor_account,
         case when n.processor_transaction_id is null then 'journal' else 'balance' end, coalesce(m.type, n.kind), coalesce(m.reporting_category, ''),
         count(*), sum(n.amount_cents), coalesce(sum(n.fee_cents), 0), coalesce(sum(n.net_cents), 0)
    from added n
    left join refunds.processor_transactions m on m.account_id = n.account_id and m.test_mode = n.test_mode and m.processor = n.processor
     and m.processor_account = n.processor_account and m.id = n.processor_transaction_id
   group by 1, 2, 3, 4, 5, 6, 7, 8 order by 1, 2, 3, 4, 5, 6, 7, 8
  on conflict (account_id, test_mode, day, processor, processor_account, cause, type, reporting_category) do update
    set transactions = k.transactions + excluded.transactions, amount_cents = k.amount_cents + excluded.amount_cents,
        fee_cents = k.fee_cents + excluded.fee_cents, net_cents = k.net_cents + excluded.net_cents;
  return null;
end $function$;
alter function add_ledger_activity() owner to eligo_owner;
grant execute on function add_ledger_activity() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.add_ledger_totals()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into refunds.ledger_totals as k (account_id, test_mode, grain, begins_on, processor, processor_account, ledger_account, amount_cents)
  select t.account_id, t.test_mode, g.grain, g.begins_on, t.processor, t.processor_account, n.ledger_account, sum(n.amount_cents)
    from added n
    join refunds.ledger_transactions t on t.account_id = n.account_id and t.test_mode = n.test_mode and t.id = n.transaction_id
    cross join lateral (values
      ('day', (t.occurred_at at time zone 'UTC')::date), ('month', date_trunc('month', t.occurred_at at time zone 'UTC')::date)) g (grain, begins_on)
   group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2, 3, 4, 5, 6, 7
  on conflict (account_id, test_mode, grain, begins_on, processor, processor_account, ledger_account) do update
    set amount_cents = k.amount_cents + excluded.amount_cents;
  return null;
end $function$;
alter function add_ledger_totals() owner to eligo_owner;
grant execute on function add_ledger_totals() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.check_failed_sum()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  whole bigint;
  parts bigint;
begin
  select r.failed_cents into whole from refunds.refunds r
   where r.account_id = new.account_id and r.test_mode = new.test_mode and r.id = new.refund_id;
  select coalesce(sum(i.amount_cents), 0) into parts from refunds.refund_items i
   where i.account_id = new.account_id and i.test_mode = new.test_mode and i.refund_id = new.refund_id
     and i.status in ('failed', 'canceled');
  if whole is distinct from parts then
    raise exception 'the failed parts of a refund sum to % and not to %', parts, whole
      using errcode = 'check_violation', constraint = 'failed_is_the_sum_of_failed_parts';
  end if;
  return null;
end $function$;
alter function check_failed_sum() owner to eligo_owner;
grant execute on function check_failed_sum() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.check_ledger_postings()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  sum_cents bigint;
  balance_cents bigint;
begin
  select coalesce(sum(p.amount_cents), 0), coalesce(sum(p.amount_cents) filter (where p.ledger_account = 'processor_balance'), 0)
    into sum_cents, balance_cents from refunds.ledger_postings p
   where p.account_id = new.account_id and p.test_mode = new.test_mode and p.transaction_id = new.id;
  if sum_cents <> 0 then
    raise exception 'the postings of ledger transaction % sum to %', new.id, sum_cents
      using errcode = 'check_violation', constraint = 'ledger_postings_sum_to_nothing';
  end if;
  if balance_cents <> coalesce(new.net_cents, 0) then
    raise exception 'ledger transaction % moves % on the balance and not %', new.id, balance_cents, coalesce(new.net_cents, 0)
      using errcode = 'check_violation', constraint = 'ledger_moves_the_net';
  end if;
  return null;
end $function$;
alter function check_ledger_postings() owner to eligo_owner;
grant execute on function check_ledger_postings() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.check_ledger_transaction()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  sum_cents numeric;
begin
  select sum(e.amount_cents) into sum_cents from refunds.ledger_entries e
   where e.account_id = new.account_id and e.test_mode = new.test_mode and e.transaction_id = new.transaction_id;
  if sum_cents <> 0 then
    raise exception 'the entries of a ledger transaction sum to %', sum_cents
      using errcode = 'check_violation', constraint = 'ledger_transaction_balances';
  end if;
  return null;
end $function$;
alter function check_ledger_transaction() owner to eligo_owner;
grant execute on function check_ledger_transaction() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.check_posted_with_transaction()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from (select distinct account_id, test_mode, transaction_id from added) p
     where not exists (
       select from refunds.ledger_transactions t
        where t.account_id = p.account_id and t.test_mode = p.test_mode and t.id = p.transaction_id and t.xmin = pg_current_xact_id()::xid)
  ) then
    raise exception 'postings are written with their ledger transaction'
      using errcode = 'check_violation', constraint = 'posted_with_its_transaction';
  end if;
  return null;
end $function$;
alter function check_posted_with_transaction() owner to eligo_owner;
grant execute on function check_posted_with_transaction() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.check_refund_sum()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  whole bigint;
  parts bigint;
begin
  select r.amount_cents, (
      select sum(i.amount_cents) from refunds.refund_items i
       where i.account_id = new.account_id and i.test_mode = new.test_mode and i.refund_id = new.refund_id)
    into whole, parts from refunds.refunds r
   where r.account_id = new.account_id and r.test_mode = new.test_mode and r.id = new.refund_id;
  if whole is distinct from parts then
    raise exception 'the parts of a refund sum to % and not to %', parts, whole
      using errcode = 'check_violation', constraint = 'refund_is_the_sum_of_its_parts';
  end if;
  if new.balance_transaction_id is not null and (
    not exists (select from refunds.balance_transactions b
      where b.account_id = new.account_id and b.test_mode = new.test_mode and b.id = new.balance_transaction_id
        and b.type = 'refund' and b.source_id = new.refund_id and b.amount_cents = - new.amount_cents)
    or exists (select from refunds.refund_items i
      where i.account_id = new.account_id and i.test_mode = new.test_mode and i.refund_id = new.refund_id
        and i.payment_intent_id <> new.payment_intent_id
        and (i.balance_transaction_id is null or i.balance_transaction_id = new.balance_transaction_id))
  ) then
    raise exception 'a part of refund % has no balance transaction of its own over %', new.refund_id, new.amount_cents
      using errcode = 'check_violation', constraint = 'refund_part_has_its_balance_transaction';
  end if;
  return null;
end $function$;
alter function check_refund_sum() owner to eligo_owner;
grant execute on function check_refund_sum() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.check_suspense_move()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  direction bigint;
begin
  select - sign(p.amount_cents) into direction from refunds.ledger_postings p
    where p.account_id = new.account_id and p.test_mode = new.test_mode and p.transaction_id = new.moved_transaction_id and p.ledger_account = 'suspense';
  if (select coalesce(jsonb_object_agg(p.ledger_account, p.amount_cents), '{}') from refunds.ledger_postings p
        where p.account_id = new.account_id and p.test_mode = new.test_mode and p.transaction_id = new.id)
      <> jsonb_build_object('suspense', direction * new.amount_cents, new.ledger_account, - direction * new.amount_cents)
    or not exists (select from refunds.ledger_transactions t where t.account_id = new.account_id and t.test_mode = new.test_mode and t.id = new.id
        and t.kind = 'suspense_move' and t.entry_id = new.id and t.amount_cents = new.amount_cents) then
    raise exception 'suspense move % is posted as something else', new.id
      using errcode = 'check_violation', constraint = 'suspense_move_is_posted';
  end if;
  return null;
end $function$;
alter function check_suspense_move() owner to eligo_owner;
grant execute on function check_suspense_move() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.drop_erased_evidence()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(
    hashtextextended('refunds.evidence:' || new.account_id || ':' || new.test_mode || ':' || new.payment_intent_id, 0));
  if exists (select from refunds.erased_intents e where e.account_id = new.account_id and e.test_mode = new.test_mode
               and e.payment_intent_id = new.payment_intent_id) then
    new.evidence := '{}';
  end if;
  return new;
end $function$;
alter function drop_erased_evidence() owner to eligo_owner;
grant execute on function drop_erased_evidence() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.due_disputes(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select d.account_id, d.test_mode, d.id from refunds.disputes d
   where d.next_check_at <= now() order by d.next_check_at limit most
$function$;
alter function due_disputes(most integer) owner to eligo_finder;
grant execute on function due_disputes(most integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.due_event_lists(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, processor processor, processor_account text)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select l.account_id, l.test_mode, l.processor, l.processor_account from refunds.event_lists l
   where l.next_read_at <= now() order by l.next_read_at limit most
$function$;
alter function due_event_lists(most integer) owner to eligo_finder;
grant execute on function due_event_lists(most integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.due_ledger_entries(most integer)
 RETURNS TABLE(account_id text, test_mode boolean)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select distinct d.account_id, d.test_mode from (select e.account_id, e.test_mode from refunds.ledger_entries e
    where e.post_at <= now() order by e.post_at limit most) d
$function$;
alter function due_ledger_entries(most integer) owner to eligo_finder;
grant execute on function due_ledger_entries(most integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.due_ledger_feeds(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, processor processor, processor_account text)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select f.account_id, f.test_mode, f.processor, f.processor_account from refunds.ledger_feeds f
   where f.next_read_at <= now() order by f.next_read_at limit most
$function$;
alter function due_ledger_feeds(most integer) owner to eligo_finder;
grant execute on function due_ledger_feeds(most integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.due_payouts(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select p.account_id, p.test_mode, p.id from refunds.payouts p where p.next_look_at <= now() order by p.next_look_at limit most
$function$;
alter function due_payouts(most integer) owner to eligo_finder;
grant execute on function due_payouts(most integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.due_processor_events(after_account text, after_test_mode boolean, most_accounts integer, each integer)
 RETURNS TABLE(account_id text, test_mode boolean, object_id text)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  with recursive turns as (
    (select e.account_id, e.test_mode, 1 as turn from refunds.processor_events e
      where e.next_check_at is not null and (e.account_id, e.test_mode) > (after_account collate "C", after_test_mode)
      order by e.account_id, e.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select e.account_id, e.test_mode from refunds.processor_events e
       where e.next_check_at is not null and (e.account_id, e.test_mode) > (t.account_id, t.test_mode)
       order by e.account_id, e.test_mode limit 1) n
     where t.turn < most_accounts
  )
  select t.account_id, t.test_mode, d.object_id from turns t left join lateral (
    select e.object_id from refunds.processor_events e
     where e.account_id = t.account_id and e.test_mode = t.test_mode and e.next_check_at <= clock_timestamp()
     order by e.next_check_at limit each) d on true
$function$;
alter function due_processor_events(after_account text, after_test_mode boolean, most_accounts integer, each integer) owner to eligo_finder;
grant execute on function due_processor_events(after_account text, after_test_mode boolean, most_accounts integer, each integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.due_processor_transactions(most integer)
 RETURNS TABLE(account_id text, test_mode boolean)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select distinct d.account_id, d.test_mode from (select t.account_id, t.test_mode from refunds.processor_transactions t
    where t.match_at <= now() order by t.match_at limit most) d
$function$;
alter function due_processor_transactions(most integer) owner to eligo_finder;
grant execute on function due_processor_transactions(most integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.due_refund_work_after(most integer, after_due timestamp with time zone, after_kind text, after_id text, after_part text)
 RETURNS TABLE(kind text, account_id text, test_mode boolean, id text, part text, due_at timestamp with time zone)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select * from (
    (select 'requested' as kind, r.account_id, r.test_mode, r.id, '' as part, r.next_check_at as due_at from refunds.refunds r
      where r.status = 'requested' and r.next_check_at <= now() and (r.lease_until is null or r.lease_until <= now())
        and r.next_check_at >= after_due and (r.next_check_at, 'requested' collate "C", r.id, '') > (after_due, after_kind, after_id, after_part)
      order by r.next_check_at, r.id limit most)
    union all
    (select 'attempt', a.account_id, a.test_mode, a.id, '', a.next_check_at from refunds.refund_attempts a
      where a.status in ('created', 'sending', 'unknown') and a.next_check_at <= now() and a.lease_until <= now()
        and a.next_check_at >= after_due and (a.next_check_at, 'attempt' collate "C", a.id, '') > (after_due, after_kind, after_id, after_part)
      order by a.next_check_at, a.id limit most)
    union all
    (select 'attempt', a.account_id, a.test_mode, a.id, '', a.next_check_at from refunds.refund_attempts a
      where a.status = 'accepted' and a.next_check_at <= now() and a.lease_until <= now()
        and a.next_check_at >= after_due and (a.next_check_at, 'attempt' collate "C", a.id, '') > (after_due, after_kind, after_id, after_part)
      order by a.next_check_at, a.id limit most)
    union all
    (select 'releasing', i.account_id, i.test_mode, i.refund_id, i.payment_intent_id, i.next_check_at from refunds.refund_items i
      where i.status = 'releasing' and i.next_check_at <= now() and (i.lease_until is null or i.lease_until <= now())
        and i.next_check_at >= after_due
        and (i.next_check_at, 'releasing' collate "C", i.refund_id, i.payment_intent_id) > (after_due, after_kind, after_id, after_part)
      order by i.next_check_at, i.refund_id, i.payment_intent_id limit most)
  ) due
  order by due_at, kind collate "C", id collate "C", part collate "C" limit most
$function$;
alter function due_refund_work_after(most integer, after_due timestamp with time zone, after_kind text, after_id text, after_part text) owner to eligo_finder;
grant execute on function due_refund_work_after(most integer, after_due timestamp with time zone, after_kind text, after_id text, after_part text) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.event_lists_read_to()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select l.read_to from refunds.event_lists l order by l.read_to limit 1
$function$;
alter function event_lists_read_to() owner to eligo_finder;
grant execute on function event_lists_read_to() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.follow_published_mark()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  begin
    if new.published_at is null then
      insert into "refunds".outbox_queue (event_id) values (new.event_id) on conflict do nothing;
      return null;
    end if;
    delete from "refunds".outbox_queue where event_id = new.event_id;
    insert into "refunds".outbox_positions as p (minute, last_seq, oldest_event_id, oldest_new_event_id)
      values (date_trunc('minute', clock_timestamp()), new.stream_seq, new.event_id, new.event_id)
      on conflict (minute) do update set last_seq = greatest(p.last_seq, excluded.last_seq), ended_at = excluded.ended_at,
        oldest_event_id = least(p.oldest_event_id, excluded.oldest_event_id),
        oldest_new_event_id = least(p.oldest_new_event_id, excluded.oldest_new_event_id);
    return null;
  end
  $function$;
alter function follow_published_mark() owner to eligo_owner;
grant execute on function follow_published_mark() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_balance_transaction()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text := case
    when not (new.type in ('charge', 'refund', 'refund_failure', 'dispute', 'dispute_reversal', 'payout', 'payout_failure', 'application_fee',
      'adjustment', 'stripe_fee', 'other')) then 'balance_transactions_type_check'
    when new.type in ('charge', 'refund', 'refund_failure', 'dispute', 'dispute_reversal')
      and not ((new.type in ('refund', 'dispute')) = (new.amount_cents < 0) and new.amount_cents <> 0) then 'balance_transactions_check'
    when not (new.status in ('pending', 'available')) then 'balance_transactions_status_check'
    when tg_op = 'UPDATE' and old.processor_transaction_id is not null
      and (new.processor, new.processor_account, new.processor_transaction_id)
        is distinct from (old.processor, old.processor_account, old.processor_transaction_id)
      and (exists (select from refunds.ledger_transactions t
             where t.account_id = old.account_id and t.test_mode = old.test_mode and t.processor = old.processor
               and t.processor_account = old.processor_account and t.processor_transaction_id = old.processor_transaction_id
               and t.balance_transaction_id = old.id)
        or new.processor_transaction_id is not null and not exists (select from refunds.ledger_transactions t
             where t.account_id = new.account_id and t.test_mode = new.test_mode and t.processor = new.processor
               and t.processor_account = new.processor_account and t.processor_transaction_id = new.processor_transaction_id
               and t.balance_transaction_id = new.id)
        or not exists (select from refunds.ledger_transactions t
             where t.account_id = old.account_id and t.test_mode = old.test_mode and t.processor = old.processor
               and t.processor_account = old.processor_account and t.processor_transaction_id = old.processor_transaction_id))
      then 'processor_transaction_is_final'
  end;
begin
  if broken is not null then
    raise exception 'balance transaction % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_balance_transaction() owner to eligo_owner;
grant execute on function guard_balance_transaction() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_dispute()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
begin
  if tg_op = 'UPDATE' then
    -- The moves are those of domain/dispute-states.ts; a test tries every pair in both.
    if new.status <> old.status and (old.status, new.status) not in (
      ('warning_needs_response', 'warning_under_review'), ('warning_needs_response', 'warning_closed'),
      ('warning_needs_response', 'needs_response'), ('warning_needs_response', 'under_review'), ('warning_needs_response', 'won'),
      ('warning_needs_response', 'lost'), ('warning_needs_response', 'prevented'),
      ('warning_under_review', 'warning_needs_response'), ('warning_under_review', 'warning_closed'),
      ('warning_under_review', 'needs_response'), ('warning_under_review', 'under_review'), ('warning_under_review', 'won'),
      ('warning_under_review', 'lost'), ('warning_under_review', 'prevented'),
      ('warning_closed', 'needs_response'), ('warning_closed', 'under_review'), ('warning_closed', 'won'), ('warning_closed', 'lost'),
      ('needs_response', 'under_review'), ('needs_response', 'won'), ('needs_response', 'lost'), ('needs_response', 'prevented'),
      ('under_review', 'needs_response'), ('under_review', 'won'), ('under_review', 'lost'), ('under_review', 'prevented'),
      ('won', 'needs_response'), ('won', 'under_review'), ('won', 'lost'),
      ('lost', 'needs_response'), ('lost', 'under_review'), ('lost', 'won'),
      ('prevented', 'needs_response'), ('prevented', 'under_review'), ('prevented', 'won'), ('prevented', 'lost')
    ) then
      raise exception 'a dispute does not move from % to %', old.status, new.status
        using errcode = 'check_violation', constraint = 'dispute_state_table';
    end if;
    if (new.processor, new.processor_account, new.processor_dispute_id)
          is distinct from (old.processor, old.processor_account, old.processor_dispute_id)
        or old.charge_id is not null and new.charge_id is distinct from old.charge_id then
      raise exception 'dispute % does not change its charge', new.id
        using errcode = 'check_violation', constraint = 'dispute_charge_is_final';
    end if;
  end if;
  broken := case
    when not (new.status in ('warning_needs_response', 'warning_under_review', 'warning_closed', 'needs_response', 'under_review', 'won',
      'lost', 'prevented')) then 'disputes_status_check'
    when not (new.amount_cents >= 0) then 'disputes_amount_cents_check'
    when not (num_nulls(new.status, new.processor_status, new.reason, new.amount_cents, new.currency, new.payment_intent_id, new.charge_id,
      new.created_at) in (0, 8)) then 'whole_once_shown'
    when not (jsonb_typeof(new.evidence) = 'object' and jsonb_typeof(new.metadata) = 'object') then 'disputes_texts_check'
    when not (new.submission_count >= 0) then 'disputes_submission_count_check'
  end;
  if broken is not null then
    raise exception 'dispute % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_dispute() owner to eligo_owner;
grant execute on function guard_dispute() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_event_list()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
begin
  broken := case
    when new.test_mode and new.processor <> 'sandbox' then 'test_mode_is_at_the_sandbox'
    when new.reading_after is not null and new.reading_to is null then 'only_a_reading_has_a_place'
    when new.reading_to <= new.read_to then 'a_reading_moves_the_watermark'
    when tg_op = 'UPDATE' and new.read_to < old.read_to then 'the_watermark_does_not_move_back'
  end;
  if broken is not null then
    raise exception 'event list % violates %', new.processor_account, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_event_list() owner to eligo_owner;
grant execute on function guard_event_list() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_evidence_file()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.processor_file_id is not null then
    raise exception 'file % is at the processor', old.file_id
      using errcode = 'check_violation', constraint = 'evidence_files_are_uploaded_once';
  end if;
  if new.attempt < old.attempt then
    raise exception 'file % counts its attempts', old.file_id
      using errcode = 'check_violation', constraint = 'evidence_attempts_are_counted';
  end if;
  return new;
end $function$;
alter function guard_evidence_file() owner to eligo_owner;
grant execute on function guard_evidence_file() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_evidence_part()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform from refunds.evidence_files f where f.account_id = new.account_id and f.test_mode = new.test_mode
    and f.dispute_id = new.dispute_id and f.field = new.field and f.file_id = new.file_id and f.content_until is not null for share;
  if not found then
    raise exception 'file % takes no content', new.file_id
      using errcode = 'check_violation', constraint = 'evidence_content_waits';
  end if;
  return new;
end $function$;
alter function guard_evidence_part() owner to eligo_owner;
grant execute on function guard_evidence_part() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_idempotency_key()
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
grant execute on function guard_idempotency_key() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_ledger_entry()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text := case
    when not (new.ledger_account in ('refunds', 'refunds_payable', 'processor_balance')) then 'ledger_entries_ledger_account_check'
    when not (new.amount_cents <> 0) then 'ledger_entries_amount_cents_check'
    when not (new.kind in ('refund_pending', 'refund_succeeded', 'refund_failed', 'refund_returned')) then 'ledger_entries_kind_check'
    when not (new.credit_account is null or (new.amount_cents > 0 and new.credit_account <> new.ledger_account
      and new.credit_account in ('refunds', 'refunds_payable', 'processor_balance'))) then 'movement_has_two_sides'
  end;
begin
  if broken is not null then
    raise exception 'ledger entry % violates %', new.transaction_id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_ledger_entry() owner to eligo_owner;
grant execute on function guard_ledger_entry() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_new_evidence_file()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (select count(*) from refunds.evidence_files f
       where f.account_id = new.account_id and f.test_mode = new.test_mode and f.dispute_id = new.dispute_id) >= 100 then
    raise exception 'dispute % takes no more files', new.dispute_id
      using errcode = 'check_violation', constraint = 'evidence_files_of_a_dispute';
  end if;
  return new;
end $function$;
alter function guard_new_evidence_file() owner to eligo_owner;
grant execute on function guard_new_evidence_file() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_places()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  declare
    taken bigint;
  begin
    select p.last_seq into taken from "refunds".outbox_positions p order by p.minute desc limit 1;
    if new.first_seq <= taken then
      raise exception 'place % of the stream is taken, up to %', new.first_seq, taken
        using errcode = 'unique_violation', constraint = 'places_ascend';
    end if;
    return new;
  end
  $function$;
alter function guard_places() owner to eligo_owner;
grant execute on function guard_places() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_processor_account()
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
  if tg_op = 'UPDATE' and old.processor is not null
     and (new.processor, new.processor_account) is distinct from (old.processor, old.processor_account) then
    raise exception 'what is at a processor account stays there'
      using errcode = 'check_violation', constraint = 'processor_account_is_final';
  end if;
  return new;
end $function$;
alter function guard_processor_account() owner to eligo_owner;
grant execute on function guard_processor_account() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_processor_event()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
begin
  if tg_op = 'UPDATE' and new.status <> old.status and old.status <> 'waiting' then
    raise exception 'an event of the processor does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'processor_event_state_table';
  end if;
  broken := case
    when not (new.status in ('waiting', 'handled', 'dropped')) then 'processor_events_status_check'
    when not ((new.status = 'waiting') = (new.next_check_at is not null)) then 'only_waiting_is_checked'
    when not ((new.status = 'waiting') = (new.settled_at is null)) then 'settled_has_a_time'
  end;
  if broken is not null then
    raise exception 'processor event % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_processor_event() owner to eligo_owner;
grant execute on function guard_processor_event() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_refund()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
begin
  if tg_op = 'UPDATE' then
    -- The moves are those of domain/refund-states.ts; a test tries every pair in both.
    if new.status <> old.status and (old.status, new.status) not in (
      ('requested', 'pending'), ('requested', 'refused'),
      ('pending', 'requires_action'), ('pending', 'succeeded'), ('pending', 'failed'), ('pending', 'canceled'),
      ('requires_action', 'pending'), ('requires_action', 'succeeded'), ('requires_action', 'failed'), ('requires_action', 'canceled'),
      ('succeeded', 'failed')
    ) then
      raise exception 'a refund does not move from % to %', old.status, new.status
        using errcode = 'check_violation', constraint = 'refund_state_table';
    end if;
    if old.amount_cents is distinct from new.amount_cents and old.amount_cents is not null then
      raise exception 'a refund''s amount does not change'
        using errcode = 'check_violation', constraint = 'refund_amount_is_final';
    end if;
  end if;
  broken := case
    when not (new.status in ('requested', 'refused', 'pending', 'requires_action', 'succeeded', 'failed', 'canceled')) then 'refunds_status_check'
    when not (jsonb_typeof(new.metadata) = 'object') then 'refunds_metadata_check'
    when not (new.amount_cents between 1 and 9007199254740991) then 'refunds_amount_cents_check'
    when not ((new.subject_session_id is null) <> (new.subject_payment_intent_id is null)) then 'one_subject'
    when not ((new.status in ('requested', 'refused')) = (new.amount_cents is null)
      and (new.amount_cents is null) = (new.payment_intent_id is null)
      and (new.amount_cents is null) = (new.created_at is null)
      and (new.amount_cents is null) = (new.balance_transaction_id is null)) then 'whole_once_pending'
    when not ((new.status = 'refused') = (new.refusal_code is not null)) then 'refused_for_a_reason'
    when not (new.failed_cents between 0 and coalesce(new.amount_cents, 0)) then 'failed_within_amount'
    when not (new.next_check_at is null or new.status = 'requested') then 'only_requested_is_checked'
  end;
  if broken is not null then
    raise exception 'refund % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_refund() owner to eligo_owner;
grant execute on function guard_refund() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_refund_attempt()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
begin
  if tg_op = 'UPDATE' and new.status <> old.status and (old.status, new.status) not in (
    ('created', 'sending'), ('sending', 'unknown'), ('unknown', 'sending'),
    ('sending', 'accepted'), ('sending', 'failed'), ('unknown', 'accepted'), ('unknown', 'failed'),
    ('accepted', 'ended')
  ) then
    raise exception 'an attempt does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'refund_attempt_state_table';
  end if;
  broken := case
    when not (new.amount_cents > 0) then 'refund_attempts_amount_cents_check'
    when not (new.status in ('created', 'sending', 'unknown', 'accepted', 'failed', 'ended')) then 'refund_attempts_status_check'
    when not ((new.status in ('accepted', 'ended')) = (new.processor_refund_id is not null)) then 'known_once_accepted'
    when not (new.status in ('created', 'failed') or new.first_sent_at is not null) then 'sent_before_known'
  end;
  if broken is not null then
    raise exception 'attempt % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_refund_attempt() owner to eligo_owner;
grant execute on function guard_refund_attempt() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_refund_item()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  broken text;
begin
  if tg_op = 'UPDATE' and new.status <> old.status and (old.status, new.status) not in (
    ('pending', 'requires_action'), ('pending', 'succeeded'), ('pending', 'releasing'),
    ('requires_action', 'pending'), ('requires_action', 'succeeded'), ('requires_action', 'releasing'),
    ('succeeded', 'releasing'), ('releasing', 'failed'), ('releasing', 'canceled')
  ) then
    raise exception 'a card''s part of a refund does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'refund_item_state_table';
  end if;
  broken := case
    when not (new.position >= 0) then 'refund_items_position_check'
    when not (new.amount_cents > 0) then 'refund_items_amount_cents_check'
    when not (new.status in ('pending', 'requires_action', 'succeeded', 'releasing', 'failed', 'canceled')) then 'refund_items_status_check'
    when not (new.end_status in ('failed', 'canceled')) then 'refund_items_end_status_check'
    when not ((new.status in ('releasing', 'failed', 'canceled')) = (new.end_status is not null)) then 'releasing_has_an_end'
    when not ((new.next_check_at is not null) = (new.status = 'releasing')) then 'only_releasing_is_checked'
  end;
  if broken is not null then
    raise exception 'part % of refund % violates %', new.payment_intent_id, new.refund_id, broken
      using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_refund_item() owner to eligo_owner;
grant execute on function guard_refund_item() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_refund_item_captures()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (select sum((c ->> 'amount_cents')::bigint) from jsonb_array_elements(new.captures) c) > new.amount_cents
     or exists (select from jsonb_array_elements(new.captures) c where not coalesce((c ->> 'amount_cents')::bigint > 0, false)) then
    raise exception 'part % of refund % draws more from captures than it is', new.payment_intent_id, new.refund_id
      using errcode = 'check_violation', constraint = 'refund_item_covers_its_captures';
  end if;
  return new;
end $function$;
alter function guard_refund_item_captures() owner to eligo_owner;
grant execute on function guard_refund_item_captures() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.guard_suspense_move()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  suspense_cents bigint;
  moved_cents bigint;
begin
  if tg_op <> 'INSERT' then
    raise exception 'suspense move % cannot be changed or deleted', old.id
      using errcode = 'check_violation', constraint = 'suspense_moves_are_final';
  end if;
  -- The lock makes the moves of one movement wait for each other.
  perform from refunds.ledger_transactions t
    where t.account_id = new.account_id and t.test_mode = new.test_mode and t.id = new.moved_transaction_id
      and t.processor_transaction_id is not null for no key update;
  if not found then
    raise exception 'ledger transaction % is not a movement on the balance', new.moved_transaction_id
      using errcode = 'check_violation', constraint = 'suspense_moves_are_of_movements';
  end if;
  select coalesce(sum(p.amount_cents), 0) into suspense_cents from refunds.ledger_postings p
    where p.account_id = new.account_id and p.test_mode = new.test_mode and p.transaction_id = new.moved_transaction_id and p.ledger_account = 'suspense';
  select coalesce(sum(m.amount_cents), 0) into moved_cents from refunds.suspense_moves m
    where m.account_id = new.account_id and m.test_mode = new.test_mode and m.moved_transaction_id = new.moved_transaction_id;
  if moved_cents + new.amount_cents > abs(suspense_cents) then
    raise exception 'ledger transaction % has % in suspense, of which % were moved', new.moved_transaction_id, suspense_cents, moved_cents
      using errcode = 'check_violation', constraint = 'moved_within_suspense';
  end if;
  return new;
end $function$;
alter function guard_suspense_move() owner to eligo_owner;
grant execute on function guard_suspense_move() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.ledger_entry_turns(after_account text, after_mode boolean, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, is_due boolean)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  with recursive turns as (
    (select e.account_id, e.test_mode, e.post_at, 1 as turn from refunds.ledger_entries e
      where e.post_at is not null and (e.account_id, e.test_mode) > (after_account collate "C", after_mode)
      order by e.account_id, e.test_mode, e.post_at limit 1)
    union all
    select n.account_id, n.test_mode, n.post_at, t.turn + 1 from turns t cross join lateral (
      select e.account_id, e.test_mode, e.post_at from refunds.ledger_entries e
       where e.post_at is not null and (e.account_id, e.test_mode) > (t.account_id, t.test_mode)
       order by e.account_id, e.test_mode, e.post_at limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, t.post_at <= now() from turns t
$function$;
alter function ledger_entry_turns(after_account text, after_mode boolean, most integer) owner to eligo_finder;
grant execute on function ledger_entry_turns(after_account text, after_mode boolean, most integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.ledger_lag_seconds()
 RETURNS double precision
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select greatest(0, extract(epoch from clock_timestamp() - least(
    (select e.post_at from refunds.ledger_entries e where e.post_at > '2020-01-02' order by e.post_at limit 1),
    (select t.match_at from refunds.processor_transactions t where t.match_at is not null order by t.match_at limit 1),
    (select f.next_read_at from refunds.ledger_feeds f order by f.next_read_at limit 1))))
$function$;
alter function ledger_lag_seconds() owner to eligo_finder;
grant execute on function ledger_lag_seconds() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.next_dispute()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select d.next_check_at from refunds.disputes d where d.next_check_at is not null order by d.next_check_at limit 1
$function$;
alter function next_dispute() owner to eligo_finder;
grant execute on function next_dispute() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.next_event_list()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select l.next_read_at from refunds.event_lists l order by l.next_read_at limit 1
$function$;
alter function next_event_list() owner to eligo_finder;
grant execute on function next_event_list() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.next_ledger_entry()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select e.post_at from refunds.ledger_entries e where e.post_at is not null order by e.post_at limit 1
$function$;
alter function next_ledger_entry() owner to eligo_finder;
grant execute on function next_ledger_entry() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.next_ledger_feed()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select f.next_read_at from refunds.ledger_feeds f order by f.next_read_at limit 1
$function$;
alter function next_ledger_feed() owner to eligo_finder;
grant execute on function next_ledger_feed() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.next_payout()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select p.next_look_at from refunds.payouts p where p.next_look_at is not null order by p.next_look_at limit 1
$function$;
alter function next_payout() owner to eligo_finder;
grant execute on function next_payout() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.next_processor_event()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select e.next_check_at from refunds.processor_events e where e.next_check_at is not null order by e.next_check_at limit 1
$function$;
alter function next_processor_event() owner to eligo_finder;
grant execute on function next_processor_event() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.next_processor_transaction()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select t.match_at from refunds.processor_transactions t where t.match_at is not null order by t.match_at limit 1
$function$;
alter function next_processor_transaction() owner to eligo_finder;
grant execute on function next_processor_transaction() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.next_refund_work()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select least(
    (select r.next_check_at from refunds.refunds r where r.next_check_at is not null order by r.next_check_at limit 1),
    (select a.next_check_at from refunds.refund_attempts a
      where a.status in ('created', 'sending', 'unknown') order by a.next_check_at limit 1),
    (select a.next_check_at from refunds.refund_attempts a where a.status = 'accepted' order by a.next_check_at limit 1),
    (select i.next_check_at from refunds.refund_items i where i.next_check_at is not null order by i.next_check_at limit 1))
$function$;
alter function next_refund_work() owner to eligo_finder;
grant execute on function next_refund_work() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.next_without_processor(after_account text, after_mode boolean)
 RETURNS TABLE(account_id text, test_mode boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select i.account_id, i.test_mode from refunds.refund_items i
   where i.processor is null and (i.account_id, i.test_mode) > (after_account, after_mode)
   order by i.account_id, i.test_mode limit 1
$function$;
alter function next_without_processor(after_account text, after_mode boolean) owner to eligo_finder;
grant execute on function next_without_processor(after_account text, after_mode boolean) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.processor_events_in_doubt(after_seconds integer)
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select count(*) from (select from refunds.processor_events e
    where e.next_check_at is not null and e.received_at < now() - make_interval(secs => after_seconds)
    order by e.next_check_at limit 1000) counted
$function$;
alter function processor_events_in_doubt(after_seconds integer) owner to eligo_finder;
grant execute on function processor_events_in_doubt(after_seconds integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.processor_transaction_turns(after_account text, after_mode boolean, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, is_due boolean)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  with recursive turns as (
    (select e.account_id, e.test_mode, e.match_at, 1 as turn from refunds.processor_transactions e
      where e.match_at is not null and (e.account_id, e.test_mode) > (after_account collate "C", after_mode)
      order by e.account_id, e.test_mode, e.match_at limit 1)
    union all
    select n.account_id, n.test_mode, n.match_at, t.turn + 1 from turns t cross join lateral (
      select e.account_id, e.test_mode, e.match_at from refunds.processor_transactions e
       where e.match_at is not null and (e.account_id, e.test_mode) > (t.account_id, t.test_mode)
       order by e.account_id, e.test_mode, e.match_at limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, t.match_at <= now() from turns t
$function$;
alter function processor_transaction_turns(after_account text, after_mode boolean, most integer) owner to eligo_finder;
grant execute on function processor_transaction_turns(after_account text, after_mode boolean, most integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.prune_events(outbox_days integer, inbox_days integer, batch integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
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
grant execute on function prune_events(outbox_days integer, inbox_days integer, batch integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.prune_idempotency_keys(batch integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
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
grant execute on function prune_idempotency_keys(batch integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.prune_processor_events(batch integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  with old as (
    select account_id, test_mode, processor, id from refunds.processor_events
    where settled_at < now() - interval '45 days' order by settled_at limit batch
  ), gone as (
    delete from refunds.processor_events e using old
    where (e.account_id, e.test_mode, e.processor, e.id) = (old.account_id, old.test_mode, old.processor, old.id)
    returning 1
  )
  select count(*) from gone
$function$;
alter function prune_processor_events(batch integer) owner to eligo_finder;
grant execute on function prune_processor_events(batch integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.queue_event()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  begin
    insert into "refunds".outbox_queue (event_id) select event_id from appended;
    return null;
  end
  $function$;
alter function queue_event() owner to eligo_owner;
grant execute on function queue_event() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.refund_work_in_doubt(after_seconds integer)
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
 SET enable_bitmapscan TO 'off'
AS $function$
  select
    (select count(*) from (select from refunds.refunds r
      where r.next_check_at is not null and r.status = 'requested' and r.requested_at < now() - make_interval(secs => after_seconds)
      order by r.next_check_at limit 1000) counted)
    + (select count(*) from (select from refunds.refund_attempts a
      where a.status in ('created', 'sending', 'unknown') and a.created_at < now() - make_interval(secs => after_seconds)
      order by a.next_check_at limit 1000) counted)
    -- Checkout has been told eight times, over more than five minutes (domain/pauses.ts).
    + (select count(*) from (select from refunds.refund_items i
      where i.next_check_at is not null and i.status = 'releasing' and i.checks >= 8
      order by i.next_check_at limit 1000) counted)
$function$;
alter function refund_work_in_doubt(after_seconds integer) owner to eligo_finder;
grant execute on function refund_work_in_doubt(after_seconds integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.refuse_changed_history()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the audit log of operators is append-only'
    using errcode = 'check_violation', constraint = 'operator_actions_append_only';
end $function$;
alter function refuse_changed_history() owner to eligo_owner;
grant execute on function refuse_changed_history() to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.stale_evidence(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, dispute_id text, field text, file_id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select f.account_id, f.test_mode, f.dispute_id, f.field, f.file_id from refunds.evidence_files f
   where f.content_until <= now() order by f.content_until limit most
$function$;
alter function stale_evidence(most integer) owner to eligo_finder;
grant execute on function stale_evidence(most integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.unread_event_lists(accounts text[], modes boolean[], processors processor[], processor_accounts text[])
 RETURNS TABLE(account_id text, test_mode boolean, processor processor, processor_account text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  select g.account_id, g.test_mode, g.processor, g.processor_account
    from unnest(accounts, modes, processors, processor_accounts) as g (account_id, test_mode, processor, processor_account)
   where not exists (select from refunds.event_lists l
     where (l.account_id, l.test_mode, l.processor, l.processor_account)
       = (g.account_id collate "C", g.test_mode, g.processor, g.processor_account collate "C") offset 0)
$function$;
alter function unread_event_lists(accounts text[], modes boolean[], processors processor[], processor_accounts text[]) owner to eligo_finder;
grant execute on function unread_event_lists(accounts text[], modes boolean[], processors processor[], processor_accounts text[]) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.wake_processor_events(turn interval, most integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  with waiting as materialized (
    select e.account_id, e.test_mode, e.processor, e.id from refunds.processor_events e
     where e.next_check_at is not null and e.next_check_at > now() + turn
     order by e.next_check_at limit most for no key update skip locked),
  woken as (
    update refunds.processor_events e set next_check_at = now() from waiting w
     where (e.account_id, e.test_mode, e.processor, e.id) = (w.account_id, w.test_mode, w.processor, w.id) returning 1)
  select count(*) from woken
$function$;
alter function wake_processor_events(turn interval, most integer) owner to eligo_finder;
grant execute on function wake_processor_events(turn interval, most integer) to eligo_refunds;

CREATE OR REPLACE FUNCTION refunds.wake_refund_work(before timestamp with time zone, most integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'refunds', 'pg_temp'
AS $function$
  with waiting as materialized (
    select a.account_id, a.test_mode, a.id from refunds.refund_attempts a
     where a.status in ('created', 'sending', 'unknown') and a.next_check_at > now() + interval '2 seconds' and a.lease_until < before
     order by a.next_check_at limit most for no key update skip locked),
  woken as (
    update refunds.refund_attempts a set next_check_at = now() from waiting w
     where (a.account_id, a.test_mode, a.id) = (w.account_id, w.test_mode, w.id) returning 1)
  select count(*) from woken
$function$;
alter function wake_refund_work(before timestamp with time zone, most integer) owner to eligo_finder;
grant execute on function wake_refund_work(before timestamp with time zone, most integer) to eligo_refunds;

alter default privileges in schema refunds grant delete, insert, select, update on tables to eligo_refunds;

alter default privileges in schema refunds grant execute on functions to eligo_refunds;

alter default privileges in schema refunds grant usage on sequences to eligo_refunds;
