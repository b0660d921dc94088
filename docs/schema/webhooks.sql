-- Schema webhooks, as its migrations leave it.

grant create, usage on schema webhooks to eligo_finder;

grant usage on schema webhooks to eligo_webhooks;

create table attempts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  delivery_id text collate "C" not null,
  started_at timestamp(3) with time zone not null,
  epoch integer not null,
  duration_ms integer not null,
  response_status integer,
  error text,
  constraint attempts_pkey PRIMARY KEY (account_id, test_mode, delivery_id, started_at, epoch),
  constraint attempts_duration_ms_check CHECK ((duration_ms >= 0))
);
alter table attempts enable row level security;
alter table attempts force row level security;
create policy own_rows on attempts for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant delete, insert, select on attempts to eligo_webhooks;

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
CREATE INDEX dead_letters_by_event ON webhooks.dead_letters USING btree (event_id, consumer);
CREATE INDEX dead_letters_redrive ON webhooks.dead_letters USING btree (consumer, redrive_at) WHERE (redrive_at IS NOT NULL);
grant delete, insert, select, update on dead_letters to eligo_webhooks;

create table deliveries (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  event_type text collate "C" not null,
  status text collate "C" not null,
  attempts integer default 0 not null,
  next_attempt_at timestamp(3) with time zone,
  last_response_status integer,
  last_error text,
  delivered_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null,
  last_duration_ms integer,
  constraint deliveries_pkey PRIMARY KEY (account_id, test_mode, endpoint_id, id),
  constraint one_delivery_for_each_endpoint_and_event UNIQUE (account_id, test_mode, event_id, endpoint_id),
  constraint deliveries_account_id_test_mode_event_id_fkey FOREIGN KEY (account_id, test_mode, event_id) REFERENCES events(account_id, test_mode, id) ON DELETE CASCADE,
  constraint delivered_at_a_time CHECK (((status <> 'succeeded'::text) OR (delivered_at IS NOT NULL))),
  constraint deliveries_attempts_check CHECK ((attempts >= 0)),
  constraint deliveries_last_duration_ms_check CHECK ((last_duration_ms >= 0)),
  constraint deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'exhausted'::text]))),
  constraint time_means_pending CHECK (((next_attempt_at IS NULL) OR (status = 'pending'::text)))
);
alter table deliveries enable row level security;
alter table deliveries force row level security;
create policy finder_reads on deliveries for select to eligo_finder
  using (true);
create policy own_rows on deliveries for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX deliveries_waiting ON webhooks.deliveries USING btree (account_id, test_mode, endpoint_id, next_attempt_at, id) WHERE (next_attempt_at IS NOT NULL);
CREATE TRIGGER deliveries_have_endpoints AFTER INSERT ON webhooks.deliveries REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION deliveries_have_endpoints();
grant delete, insert, select on deliveries to eligo_webhooks;
grant select on deliveries to eligo_finder;
grant update (status), update (attempts), update (next_attempt_at), update (last_response_status), update (last_error), update (delivered_at), update (last_duration_ms) on deliveries to eligo_webhooks;

create table endpoint_secrets (
  account_id text collate "C" not null,
  test_mode boolean not null,
  endpoint_id text collate "C" not null,
  generation integer not null,
  sealed text not null,
  created_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone,
  constraint endpoint_secrets_pkey PRIMARY KEY (account_id, test_mode, endpoint_id, generation),
  constraint endpoint_secrets_account_id_test_mode_endpoint_id_fkey FOREIGN KEY (account_id, test_mode, endpoint_id) REFERENCES endpoints(account_id, test_mode, id),
  constraint endpoint_secrets_generation_check CHECK ((generation >= 1))
);
alter table endpoint_secrets enable row level security;
alter table endpoint_secrets force row level security;
create policy own_rows on endpoint_secrets for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE UNIQUE INDEX one_current_secret ON webhooks.endpoint_secrets USING btree (account_id, test_mode, endpoint_id) WHERE (expires_at IS NULL);
grant delete, insert, select, update on endpoint_secrets to eligo_webhooks;

create table endpoints (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  url text not null,
  events text[] not null,
  status text collate "C" not null,
  failures_in_row integer default 0 not null,
  failing_since timestamp(3) with time zone,
  open_until timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null,
  disabled_at timestamp(3) with time zone,
  deleted_at timestamp(3) with time zone,
  version bigint default 1 not null,
  unreachable_since timestamp with time zone,
  retry_asked_at timestamp with time zone,
  constraint endpoints_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint disabled_at_a_time CHECK (((status = 'disabled'::text) = (disabled_at IS NOT NULL))),
  constraint endpoints_events_check CHECK (((cardinality(events) >= 1) AND (cardinality(events) <= 200))),
  constraint endpoints_failures_in_row_check CHECK ((failures_in_row >= 0)),
  constraint endpoints_status_check CHECK ((status = ANY (ARRAY['enabled'::text, 'disabled'::text]))),
  constraint endpoints_url_check CHECK (((length(url) >= 1) AND (length(url) <= 2048))),
  constraint open_means_failing CHECK (((open_until IS NULL) OR (failing_since IS NOT NULL)))
);
alter table endpoints enable row level security;
alter table endpoints force row level security;
create policy finder_reads on endpoints for select to eligo_finder
  using (true);
create policy own_rows on endpoints for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX endpoints_live ON webhooks.endpoints USING btree (account_id, test_mode, id) WHERE (deleted_at IS NULL);
grant insert, select, update on endpoints to eligo_webhooks;
grant select on endpoints to eligo_finder;

create table events (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  event_type text collate "C" not null,
  body bytea not null,
  request_id text collate "C" not null,
  traceparent text collate "C" not null,
  occurred_at timestamp(3) with time zone not null,
  created_at timestamp(3) with time zone default now() not null,
  record_id text collate "C",
  constraint events_pkey PRIMARY KEY (account_id, test_mode, id)
);
alter table events enable row level security;
alter table events force row level security;
create policy finder_reads on events for select to eligo_finder
  using (true);
create policy own_rows on events for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX events_by_age ON webhooks.events USING btree (created_at);
CREATE INDEX events_by_record ON webhooks.events USING btree (account_id, test_mode, record_id, id DESC) WHERE (record_id IS NOT NULL);
CREATE INDEX events_by_type ON webhooks.events USING btree (account_id, test_mode, event_type, id);
grant delete, insert, select on events to eligo_webhooks;
grant select on events to eligo_finder;

create table fan_outs (
  account_id text collate "C" not null,
  test_mode boolean not null,
  event_id text collate "C" not null,
  planned_through text collate "C" default ''::text not null,
  created_at timestamp with time zone default now() not null,
  constraint fan_outs_pkey PRIMARY KEY (account_id, test_mode, event_id),
  constraint fan_outs_account_id_test_mode_event_id_fkey FOREIGN KEY (account_id, test_mode, event_id) REFERENCES events(account_id, test_mode, id) ON DELETE CASCADE
);
alter table fan_outs enable row level security;
alter table fan_outs force row level security;
create policy finder_reads on fan_outs for select to eligo_finder
  using (true);
create policy own_rows on fan_outs for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX fan_outs_by_age ON webhooks.fan_outs USING btree (created_at);
grant delete, insert, select, update on fan_outs to eligo_webhooks;
grant select on fan_outs to eligo_finder;
grant update (planned_through) on fan_outs to eligo_webhooks;

create table inbox (
  consumer text collate "C" not null,
  event_id text collate "C" not null,
  handled_at timestamp(3) with time zone default now() not null,
  constraint inbox_pkey PRIMARY KEY (consumer, event_id)
);
grant delete, select on inbox to eligo_finder;
grant insert, select on inbox to eligo_webhooks;

create table lanes (
  account_id text collate "C" not null,
  test_mode boolean not null,
  endpoint_id text collate "C" not null,
  owner text collate "C",
  lease_until timestamp(3) with time zone,
  epoch integer default 0 not null,
  handed_from text collate "C",
  constraint lanes_pkey PRIMARY KEY (account_id, test_mode, endpoint_id),
  constraint lanes_account_id_test_mode_endpoint_id_fkey FOREIGN KEY (account_id, test_mode, endpoint_id) REFERENCES endpoints(account_id, test_mode, id)
);
alter table lanes enable row level security;
alter table lanes force row level security;
create policy finder_reads on lanes for select to eligo_finder
  using (true);
create policy own_rows on lanes for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE INDEX lanes_handed ON webhooks.lanes USING btree (lease_until) WHERE (handed_from IS NOT NULL);
grant delete, insert, select, update on lanes to eligo_webhooks;
grant select on lanes to eligo_finder;

create table migrations (
  id text collate "C" not null,
  checksum text not null,
  applied_at timestamp(3) with time zone default now() not null,
  constraint migrations_pkey PRIMARY KEY (id)
);
grant select on migrations to eligo_webhooks;

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
CREATE INDEX operator_actions_by_account ON webhooks.operator_actions USING btree (account_id, number) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_by_account_and_operator ON webhooks.operator_actions USING btree (account_id, operator_name, number) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_by_operator ON webhooks.operator_actions USING btree (operator_name, number);
CREATE UNIQUE INDEX operator_proof_once ON webhooks.operator_actions USING btree (proof_id) WHERE (proof_id IS NOT NULL);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON webhooks.operator_actions FOR EACH ROW EXECUTE FUNCTION refuse_changed_history();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON webhooks.operator_actions FOR EACH STATEMENT EXECUTE FUNCTION refuse_changed_history();
grant insert (operator_id), insert (operator_name), insert (login_id), insert (action), insert (account_id), insert (test_mode), insert (subject_id), insert (request_id), insert (refused), insert (proof_id) on operator_actions to eligo_webhooks;
grant select on operator_actions to eligo_webhooks;

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
CREATE TRIGGER follow_published_mark AFTER UPDATE OF published_at ON webhooks.outbox FOR EACH ROW WHEN ((new.published_at IS DISTINCT FROM old.published_at)) EXECUTE FUNCTION follow_published_mark();
CREATE TRIGGER queue_event AFTER INSERT ON webhooks.outbox REFERENCING NEW TABLE AS appended FOR EACH STATEMENT EXECUTE FUNCTION queue_event();
grant delete, select on outbox to eligo_finder;
grant insert, select on outbox to eligo_webhooks;
grant update (payload) on outbox to eligo_finder;
grant update (published_at), update (stream_seq) on outbox to eligo_webhooks;

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
CREATE TRIGGER places_ascend BEFORE INSERT ON webhooks.outbox_positions FOR EACH ROW EXECUTE FUNCTION guard_places();
grant delete, insert, select, update on outbox_positions to eligo_webhooks;
grant delete, select on outbox_positions to eligo_finder;

create table outbox_pruned (
  only_row boolean default true not null,
  aggregate_seq bigint not null,
  event_id text collate "C" not null,
  constraint outbox_pruned_pkey PRIMARY KEY (only_row),
  constraint outbox_pruned_only_row_check CHECK (only_row)
);
grant select on outbox_pruned to eligo_webhooks;
grant select, update on outbox_pruned to eligo_finder;

create table outbox_queue (
  event_id text collate "C" not null,
  queued_again_at timestamp(3) with time zone,
  constraint outbox_queue_pkey PRIMARY KEY (event_id)
);
grant delete, insert, select on outbox_queue to eligo_webhooks;
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
grant insert, select on outbox_repairs to eligo_webhooks;
grant select on outbox_repairs to eligo_finder;
grant update (events), update (after_event_id), update (finished_at) on outbox_repairs to eligo_webhooks;

create table outbox_stream (
  stream text collate "C" not null,
  created text not null,
  constraint outbox_stream_pkey PRIMARY KEY (stream)
);
grant delete, insert, select, update on outbox_stream to eligo_webhooks;

create table sealing_keys (
  key_id text collate "C" not null,
  fingerprint bytea not null,
  recorded_at timestamp(3) with time zone default now() not null,
  constraint sealing_keys_pkey PRIMARY KEY (key_id),
  constraint sealing_keys_fingerprint_check CHECK ((length(fingerprint) = 32)),
  constraint sealing_keys_key_id_check CHECK (((length(key_id) >= 1) AND (length(key_id) <= 32)))
);
grant insert (key_id), insert (fingerprint) on sealing_keys to eligo_webhooks;
grant select on sealing_keys to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.deliveries_have_endpoints()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'webhooks', 'pg_temp'
AS $function$
begin
  if exists (
    select from (select distinct account_id, test_mode, endpoint_id from added) a
     where not exists (
       select from webhooks.endpoints e where e.account_id = a.account_id and e.test_mode = a.test_mode and e.id = a.endpoint_id)
  ) then
    raise foreign_key_violation using message = 'a delivery to an endpoint that is not there', constraint = 'deliveries_have_endpoints';
  end if;
  return null;
end $function$;
alter function deliveries_have_endpoints() owner to eligo_owner;
grant execute on function deliveries_have_endpoints() to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.endpoints_to_exhaust(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, endpoint_id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'webhooks', 'pg_temp'
AS $function$
  with recursive lane as (
    (select d.account_id, d.test_mode, d.endpoint_id from webhooks.deliveries d
      where d.next_attempt_at is not null
      order by d.account_id, d.test_mode, d.endpoint_id limit 1)
    union all
    select n.account_id, n.test_mode, n.endpoint_id
      from lane l
      cross join lateral (
        select d.account_id, d.test_mode, d.endpoint_id from webhooks.deliveries d
         where d.next_attempt_at is not null
           and (d.account_id, d.test_mode, d.endpoint_id) > (l.account_id, l.test_mode, l.endpoint_id)
         order by d.account_id, d.test_mode, d.endpoint_id limit 1
      ) n
  )
  select l.account_id, l.test_mode, l.endpoint_id
    from lane l
    join webhooks.endpoints e on e.account_id = l.account_id and e.test_mode = l.test_mode and e.id = l.endpoint_id
   where e.status = 'disabled'
   limit most
$function$;
alter function endpoints_to_exhaust(most integer) owner to eligo_finder;
grant execute on function endpoints_to_exhaust(most integer) to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.endpoints_to_exhaust_after(most integer, after_account text, after_mode boolean, after_endpoint text)
 RETURNS TABLE(kind text, account_id text, test_mode boolean, endpoint_id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'webhooks', 'pg_temp'
AS $function$
  with page as materialized (
    select * from webhooks.waiting_endpoints_after(most, after_account, after_mode, after_endpoint)
  )
  (select 'due', p.account_id, p.test_mode, p.endpoint_id
     from page p
     cross join lateral (
       select from webhooks.endpoints e
        where e.account_id = p.account_id and e.test_mode = p.test_mode and e.id = p.endpoint_id and e.status = 'disabled' offset 0) e)
  union all
  (select 'place', p.account_id, p.test_mode, p.endpoint_id from page p where p.step = most)
$function$;
alter function endpoints_to_exhaust_after(most integer, after_account text, after_mode boolean, after_endpoint text) owner to eligo_finder;
grant execute on function endpoints_to_exhaust_after(most integer, after_account text, after_mode boolean, after_endpoint text) to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.endpoints_to_send(at timestamp with time zone, asking text, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, endpoint_id text, due_in_ms double precision)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'webhooks', 'pg_temp'
AS $function$
  with recursive waiting as (
    (select d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at from webhooks.deliveries d
      where d.next_attempt_at is not null
      order by d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at limit 1)
    union all
    select n.account_id, n.test_mode, n.endpoint_id, n.next_attempt_at
      from waiting w
      cross join lateral (
        select d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at from webhooks.deliveries d
         where d.next_attempt_at is not null
           and (d.account_id, d.test_mode, d.endpoint_id) > (w.account_id, w.test_mode, w.endpoint_id)
         order by d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at limit 1
      ) n
  ), known as (
    select w.account_id, w.test_mode, w.endpoint_id,
           1000 * greatest(
             extract(epoch from greatest(w.next_attempt_at, e.open_until) - at),
             case when own.owner <> asking then extract(epoch from own.lease_until - clock_timestamp()) end
           )::double precision as due_in_ms
      from waiting w
      join webhooks.endpoints e on e.account_id = w.account_id and e.test_mode = w.test_mode and e.id = w.endpoint_id
      join webhooks.lanes own on own.account_id = w.account_id and own.test_mode = w.test_mode and own.endpoint_id = w.endpoint_id
     where e.status = 'enabled' and e.deleted_at is null
    union all
    select l.account_id, l.test_mode, l.endpoint_id,
           1000 * extract(epoch from l.lease_until - clock_timestamp())::double precision
      from webhooks.lanes l
     where l.lease_until is not null and l.handed_from is not null and l.owner <> asking
  )
  (select k.account_id, k.test_mode, k.endpoint_id, 0 from known k where k.due_in_ms <= 0 limit most)
  union all
  select null, null, null, min(k.due_in_ms) from known k where k.due_in_ms > 0
$function$;
alter function endpoints_to_send(at timestamp with time zone, asking text, most integer) owner to eligo_finder;
grant execute on function endpoints_to_send(at timestamp with time zone, asking text, most integer) to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.endpoints_to_send_after(at timestamp with time zone, asking text, most integer, after_account text, after_mode boolean, after_endpoint text)
 RETURNS TABLE(kind text, account_id text, test_mode boolean, endpoint_id text, due_in_ms double precision)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'webhooks', 'pg_temp'
AS $function$
  with page as materialized (
    select * from webhooks.waiting_endpoints_after(most, after_account, after_mode, after_endpoint)
  ), known as materialized (
    select p.account_id, p.test_mode, p.endpoint_id,
           1000 * greatest(
             extract(epoch from greatest(p.next_attempt_at, e.open_until) - at),
             case when own.owner <> asking then extract(epoch from own.lease_until - clock_timestamp()) end
           )::double precision as due_in_ms
      from page p
      cross join lateral (
        select e.open_until from webhooks.endpoints e
         where e.account_id = p.account_id and e.test_mode = p.test_mode and e.id = p.endpoint_id
           and e.status = 'enabled' and e.deleted_at is null offset 0) e
      cross join lateral (
        select l.owner, l.lease_until from webhooks.lanes l
         where l.account_id = p.account_id and l.test_mode = p.test_mode and l.endpoint_id = p.endpoint_id offset 0) own
  )
  (select 'due', k.account_id, k.test_mode, k.endpoint_id, 0 from known k where k.due_in_ms <= 0)
  union all
  (select 'next', null, null, null, min(k.due_in_ms) from known k where k.due_in_ms > 0 having count(*) > 0)
  union all
  (select 'place', p.account_id, p.test_mode, p.endpoint_id, null from page p where p.step = most)
$function$;
alter function endpoints_to_send_after(at timestamp with time zone, asking text, most integer, after_account text, after_mode boolean, after_endpoint text) owner to eligo_finder;
grant execute on function endpoints_to_send_after(at timestamp with time zone, asking text, most integer, after_account text, after_mode boolean, after_endpoint text) to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.fan_out_lag_seconds()
 RETURNS double precision
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'webhooks', 'pg_temp'
AS $function$
  select greatest(0, extract(epoch from clock_timestamp() - (select f.created_at from webhooks.fan_outs f order by f.created_at limit 1)))
$function$;
alter function fan_out_lag_seconds() owner to eligo_finder;
grant execute on function fan_out_lag_seconds() to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.fan_out_turns(after_account text, after_mode boolean, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, is_due boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'webhooks', 'pg_temp'
AS $function$
  with recursive turns as (
    (select f.account_id, f.test_mode, 1 as turn from webhooks.fan_outs f
      where (f.account_id, f.test_mode) > (after_account collate "C", after_mode)
      order by f.account_id, f.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select f.account_id, f.test_mode from webhooks.fan_outs f
       where (f.account_id, f.test_mode) > (t.account_id, t.test_mode)
       order by f.account_id, f.test_mode limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, true from turns t
$function$;
alter function fan_out_turns(after_account text, after_mode boolean, most integer) owner to eligo_finder;
grant execute on function fan_out_turns(after_account text, after_mode boolean, most integer) to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.follow_published_mark()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  begin
    if new.published_at is null then
      insert into "webhooks".outbox_queue (event_id) values (new.event_id) on conflict do nothing;
      return null;
    end if;
    delete from "webhooks".outbox_queue where event_id = new.event_id;
    insert into "webhooks".outbox_positions as p (minute, last_seq, oldest_event_id, oldest_new_event_id)
      values (date_trunc('minute', clock_timestamp()), new.stream_seq, new.event_id, new.event_id)
      on conflict (minute) do update set last_seq = greatest(p.last_seq, excluded.last_seq), ended_at = excluded.ended_at,
        oldest_event_id = least(p.oldest_event_id, excluded.oldest_event_id),
        oldest_new_event_id = least(p.oldest_new_event_id, excluded.oldest_new_event_id);
    return null;
  end
  $function$;
alter function follow_published_mark() owner to eligo_owner;
grant execute on function follow_published_mark() to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.guard_places()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  declare
    taken bigint;
  begin
    select p.last_seq into taken from "webhooks".outbox_positions p order by p.minute desc limit 1;
    if new.first_seq <= taken then
      raise exception 'place % of the stream is taken, up to %', new.first_seq, taken
        using errcode = 'unique_violation', constraint = 'places_ascend';
    end if;
    return new;
  end
  $function$;
alter function guard_places() owner to eligo_owner;
grant execute on function guard_places() to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.lapsed_lanes(asking text, most integer)
 RETURNS TABLE(kind text, account_id text, test_mode boolean, endpoint_id text, due_in_ms double precision)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'webhooks', 'pg_temp'
AS $function$
  (select 'due', l.account_id, l.test_mode, l.endpoint_id, 0 from webhooks.lanes l
    where l.lease_until <= now() and l.handed_from is not null and l.owner <> asking
    order by l.lease_until limit most)
  union all
  (select 'next', null, null, null,
          1000 * extract(epoch from least(
            min(n.lease_until) filter (where n.owner <> asking),
            case when count(*) = 100 then max(n.lease_until) end) - clock_timestamp())::double precision
     from (select l.lease_until, l.owner from webhooks.lanes l
            where l.lease_until > now() and l.handed_from is not null order by l.lease_until limit 100) n)
$function$;
alter function lapsed_lanes(asking text, most integer) owner to eligo_finder;
grant execute on function lapsed_lanes(asking text, most integer) to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.old_events(before timestamp with time zone, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'webhooks', 'pg_temp'
AS $function$
  select e.account_id, e.test_mode, e.id from webhooks.events e where e.created_at < before order by e.created_at limit most
$function$;
alter function old_events(before timestamp with time zone, most integer) owner to eligo_finder;
grant execute on function old_events(before timestamp with time zone, most integer) to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.prune_events(outbox_days integer, inbox_days integer, batch integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'webhooks', 'pg_temp'
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
grant execute on function prune_events(outbox_days integer, inbox_days integer, batch integer) to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.queue_event()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  begin
    insert into "webhooks".outbox_queue (event_id) select event_id from appended;
    return null;
  end
  $function$;
alter function queue_event() owner to eligo_owner;
grant execute on function queue_event() to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.refuse_changed_history()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the audit log of operators is append-only'
    using errcode = 'check_violation', constraint = 'operator_actions_append_only';
end $function$;
alter function refuse_changed_history() owner to eligo_owner;
grant execute on function refuse_changed_history() to eligo_webhooks;

CREATE OR REPLACE FUNCTION webhooks.waiting_endpoints_after(most integer, after_account text, after_mode boolean, after_endpoint text)
 RETURNS TABLE(account_id text, test_mode boolean, endpoint_id text, next_attempt_at timestamp with time zone, step integer)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'webhooks', 'pg_temp'
AS $function$
  with recursive waiting as (
    (select d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at, 1 as step from webhooks.deliveries d
      where d.next_attempt_at is not null and (d.account_id, d.test_mode, d.endpoint_id) > (after_account, after_mode, after_endpoint)
      order by d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at limit 1)
    union all
    select n.account_id, n.test_mode, n.endpoint_id, n.next_attempt_at, w.step + 1
      from waiting w
      cross join lateral (
        select d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at from webhooks.deliveries d
         where d.next_attempt_at is not null
           and (d.account_id, d.test_mode, d.endpoint_id) > (w.account_id, w.test_mode, w.endpoint_id)
         order by d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at limit 1
      ) n
     where w.step < most
  )
  select w.account_id, w.test_mode, w.endpoint_id, w.next_attempt_at, w.step from waiting w
$function$;
alter function waiting_endpoints_after(most integer, after_account text, after_mode boolean, after_endpoint text) owner to eligo_finder;

alter default privileges in schema webhooks grant delete, insert, select, update on tables to eligo_webhooks;

alter default privileges in schema webhooks grant execute on functions to eligo_webhooks;

alter default privileges in schema webhooks grant usage on sequences to eligo_webhooks;
