-- Schema refunds, as its migrations leave it.

grant create, usage on schema refunds to eligo_finder;

grant usage on schema refunds to eligo_refunds;

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
  constraint balance_transactions_pkey PRIMARY KEY (account_id, test_mode, id)
);
alter table balance_transactions enable row level security;
alter table balance_transactions force row level security;
create policy own_rows on balance_transactions for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX balance_transactions_by_source ON refunds.balance_transactions USING btree (account_id, test_mode, source_id);
CREATE TRIGGER guard_balance_transaction BEFORE INSERT OR UPDATE ON refunds.balance_transactions FOR EACH ROW EXECUTE FUNCTION guard_balance_transaction();
grant insert, select on balance_transactions to eligo_refunds;
grant update (status), update (available_on) on balance_transactions to eligo_refunds;

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
CREATE INDEX dead_letters_redrive ON refunds.dead_letters USING btree (consumer, redrive_at) WHERE (redrive_at IS NOT NULL);
grant delete, insert, select, update on dead_letters to eligo_refunds;

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
CREATE INDEX inbox_handled ON refunds.inbox USING btree (handled_at);
grant delete, select on inbox to eligo_finder;
grant insert, select on inbox to eligo_refunds;

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
  constraint ledger_entries_pkey PRIMARY KEY (account_id, test_mode, transaction_id, ledger_account),
  constraint booked_once UNIQUE (account_id, test_mode, refund_id, payment_intent_id, kind, ledger_account)
);
alter table ledger_entries enable row level security;
alter table ledger_entries force row level security;
create policy own_rows on ledger_entries for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE CONSTRAINT TRIGGER check_ledger_transaction AFTER INSERT ON refunds.ledger_entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.credit_account IS NULL)) EXECUTE FUNCTION check_ledger_transaction();
CREATE TRIGGER guard_ledger_entry BEFORE INSERT OR UPDATE ON refunds.ledger_entries FOR EACH ROW EXECUTE FUNCTION guard_ledger_entry();
grant insert, select on ledger_entries to eligo_refunds;

create table migrations (
  id text collate "C" not null,
  checksum text not null,
  applied_at timestamp(3) with time zone default now() not null,
  constraint migrations_pkey PRIMARY KEY (id)
);
grant select on migrations to eligo_refunds;

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
CREATE INDEX outbox_published ON refunds.outbox USING btree (published_at) WHERE (payload IS NOT NULL);
CREATE UNIQUE INDEX outbox_stream_seq ON refunds.outbox USING btree (stream_seq) WHERE (stream_seq IS NOT NULL);
CREATE INDEX outbox_unpublished ON refunds.outbox USING btree (event_id) WHERE ((published_at IS NULL) AND (payload IS NOT NULL));
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
create policy own_rows on refund_attempts for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE UNIQUE INDEX one_attempt_for_each_processor_refund ON refunds.refund_attempts USING btree (account_id, test_mode, processor_refund_id) WHERE (processor_refund_id IS NOT NULL);
CREATE UNIQUE INDEX one_live_attempt ON refunds.refund_attempts USING btree (account_id, test_mode, refund_id, payment_intent_id) WHERE (status <> 'failed'::text);
CREATE INDEX refund_attempts_accepted ON refunds.refund_attempts USING btree (next_check_at) WHERE (status = 'accepted'::text);
CREATE INDEX refund_attempts_unsettled ON refunds.refund_attempts USING btree (next_check_at) WHERE (status = ANY (ARRAY['created'::text, 'sending'::text, 'unknown'::text]));
CREATE TRIGGER guard_refund_attempt BEFORE INSERT OR UPDATE ON refunds.refund_attempts FOR EACH ROW EXECUTE FUNCTION guard_refund_attempt();
grant insert, select, update on refund_attempts to eligo_refunds;
grant select on refund_attempts to eligo_finder;

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
CREATE CONSTRAINT TRIGGER check_failed_sum AFTER UPDATE OF status ON refunds.refund_items DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.status = ANY (ARRAY['failed'::text, 'canceled'::text]))) EXECUTE FUNCTION check_failed_sum();
CREATE CONSTRAINT TRIGGER check_refund_sum AFTER INSERT ON refunds.refund_items DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_refund_sum();
CREATE TRIGGER guard_refund_item BEFORE INSERT OR UPDATE ON refunds.refund_items FOR EACH ROW EXECUTE FUNCTION guard_refund_item();
grant insert, select on refund_items to eligo_refunds;
grant select on refund_items to eligo_finder;
grant update (status), update (end_status), update (returned), update (failure_code), update (reference_id), update (reference_type), update (reference_status), update (epoch), update (lease_until), update (checks), update (next_check_at) on refund_items to eligo_refunds;

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
  return null;
end $function$;
alter function check_refund_sum() owner to eligo_owner;
grant execute on function check_refund_sum() to eligo_refunds;

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
    when not (new.type in ('refund', 'refund_failure')) then 'balance_transactions_type_check'
    when not ((new.type = 'refund') = (new.amount_cents < 0) and new.amount_cents <> 0) then 'balance_transactions_check'
    when not (new.status in ('pending', 'available')) then 'balance_transactions_status_check'
  end;
begin
  if broken is not null then
    raise exception 'balance transaction % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $function$;
alter function guard_balance_transaction() owner to eligo_owner;
grant execute on function guard_balance_transaction() to eligo_refunds;

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
    -- Of the oldest rows alone: those that are not old enough end the search.
    with oldest as (
      select o.event_id, o.created_at, o.published_at from outbox o where o.event_id < kept_from order by o.event_id limit batch
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
    with old as (
      select consumer, event_id from inbox
      where handled_at < now() - make_interval(days => inbox_days) order by handled_at limit batch
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

alter default privileges in schema refunds grant delete, insert, select, update on tables to eligo_refunds;

alter default privileges in schema refunds grant execute on functions to eligo_refunds;

alter default privileges in schema refunds grant usage on sequences to eligo_refunds;
