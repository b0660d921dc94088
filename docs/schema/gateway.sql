-- Schema gateway, as its migrations leave it.

grant create, usage on schema gateway to eligo_finder;

grant usage on schema gateway to eligo_gateway;

create table accounts (
  account_id text collate "C" not null,
  name text not null,
  organization_id text collate "C",
  features text[] default '{}'::text[] not null,
  dunning_end text default 'canceled'::text not null,
  version bigint default 1 not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  updated_at timestamp(3) with time zone default clock_timestamp() not null,
  substantiation text,
  substantiation_set_by text,
  substantiation_set_at timestamp(3) with time zone,
  display_name text,
  logo_url text,
  accent_color text collate "C",
  publishable_key text collate "C",
  letter_fee_cents integer default 0 not null,
  shipping_countries text collate "C",
  time_zone text collate "C" default 'America/New_York'::text not null,
  constraint accounts_pkey PRIMARY KEY (account_id),
  constraint accounts_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(organization_id),
  constraint accounts_accent_color_check CHECK ((accent_color ~ '^#[0-9a-f]{6}$'::text)),
  constraint accounts_display_name_check CHECK (((length(display_name) >= 1) AND (length(display_name) <= 200))),
  constraint accounts_dunning_end_check CHECK ((dunning_end = ANY (ARRAY['canceled'::text, 'unpaid'::text]))),
  constraint accounts_letter_fee CHECK (((letter_fee_cents >= 0) AND (letter_fee_cents <= 99999))),
  constraint accounts_logo_url_check CHECK (((length(logo_url) <= 2048) AND (logo_url ~ '^https://'::text))),
  constraint accounts_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint accounts_publishable_key_check CHECK ((publishable_key ~ '^pk_live_[0-9A-Za-z_]{10,240}$'::text)),
  constraint accounts_shipping_countries_check CHECK ((shipping_countries ~ '^[A-Z]{2}(,[A-Z]{2}){0,249}$'::text)),
  constraint accounts_substantiation CHECK ((substantiation = ANY (ARRAY['medical_mcc'::text, 'ninety_percent'::text, 'iias'::text]))),
  constraint accounts_substantiation_is_someones_word CHECK ((((substantiation_set_by IS NULL) = (substantiation_set_at IS NULL)) AND ((substantiation IS NULL) OR (substantiation_set_by IS NOT NULL)))),
  constraint accounts_time_zone_check CHECK ((time_zone ~ '^[A-Za-z][A-Za-z0-9_+/-]{1,63}$'::text)),
  constraint accounts_version_check CHECK ((version > 0))
);
CREATE INDEX accounts_by_organization ON gateway.accounts USING btree (organization_id, account_id) WHERE (organization_id IS NOT NULL);
CREATE UNIQUE INDEX accounts_by_sandbox_live_account ON gateway.accounts USING btree ((('acct_'::text || "left"(encode(sha256(decode(('live:'::text || account_id), 'escape'::text)), 'hex'::text), 24))));
CREATE UNIQUE INDEX accounts_by_sandbox_test_account ON gateway.accounts USING btree ((('acct_'::text || "left"(encode(sha256(decode(('test:'::text || account_id), 'escape'::text)), 'hex'::text), 24))));
CREATE TRIGGER accounts_changed AFTER DELETE OR UPDATE ON gateway.accounts FOR EACH ROW EXECUTE FUNCTION notify_keys();
CREATE TRIGGER guard_members BEFORE INSERT ON gateway.accounts FOR EACH ROW WHEN ((new.organization_id IS NOT NULL)) EXECUTE FUNCTION guard_members();
CREATE TRIGGER guard_moving_members BEFORE UPDATE OF organization_id ON gateway.accounts FOR EACH ROW WHEN (((new.organization_id IS NOT NULL) AND (new.organization_id IS DISTINCT FROM old.organization_id))) EXECUTE FUNCTION guard_members();
CREATE TRIGGER member_made AFTER INSERT ON gateway.accounts FOR EACH ROW WHEN ((new.organization_id IS NOT NULL)) EXECUTE FUNCTION notify_keys();
CREATE TRIGGER queue_changed_features AFTER UPDATE ON gateway.accounts FOR EACH ROW WHEN ((old.features IS DISTINCT FROM new.features)) EXECUTE FUNCTION queue_features();
CREATE TRIGGER queue_changed_shop_name AFTER UPDATE ON gateway.accounts FOR EACH ROW WHEN ((COALESCE(old.display_name, old.name) IS DISTINCT FROM COALESCE(new.display_name, new.name))) EXECUTE FUNCTION queue_shop_name();
CREATE TRIGGER queue_changed_statement AFTER UPDATE ON gateway.accounts FOR EACH ROW WHEN ((old.substantiation IS DISTINCT FROM new.substantiation)) EXECUTE FUNCTION queue_statement();
CREATE TRIGGER queue_changed_time_zone AFTER UPDATE ON gateway.accounts FOR EACH ROW WHEN ((old.time_zone IS DISTINCT FROM new.time_zone)) EXECUTE FUNCTION queue_time_zone();
CREATE TRIGGER queue_new_features AFTER INSERT ON gateway.accounts FOR EACH ROW EXECUTE FUNCTION queue_features();
CREATE TRIGGER queue_new_shop_name AFTER INSERT ON gateway.accounts FOR EACH ROW EXECUTE FUNCTION queue_shop_name();
CREATE TRIGGER queue_new_statement AFTER INSERT ON gateway.accounts FOR EACH ROW EXECUTE FUNCTION queue_statement();
CREATE TRIGGER queue_new_time_zone AFTER INSERT ON gateway.accounts FOR EACH ROW EXECUTE FUNCTION queue_time_zone();
grant insert, select, update on accounts to eligo_gateway;

create table api_keys (
  key_id text collate "C" not null,
  account_id text collate "C" not null,
  test_mode boolean not null,
  key_hash bytea not null,
  last4 text collate "C" not null,
  scopes text[],
  rate_limit integer,
  expires_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  rolled_at timestamp(3) with time zone,
  constraint api_keys_pkey PRIMARY KEY (key_id),
  constraint api_keys_key_hash_key UNIQUE (key_hash),
  constraint api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(account_id),
  constraint api_keys_key_hash_check CHECK ((length(key_hash) = 32)),
  constraint api_keys_last4_check CHECK ((length(last4) = 4)),
  constraint api_keys_rate_limit_check CHECK ((rate_limit >= 0))
);
CREATE INDEX api_keys_by_account ON gateway.api_keys USING btree (account_id, key_id);
CREATE TRIGGER keys_changed AFTER DELETE OR UPDATE ON gateway.api_keys FOR EACH ROW EXECUTE FUNCTION notify_keys();
grant insert, select, update on api_keys to eligo_gateway;

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
CREATE INDEX dead_letters_by_event ON gateway.dead_letters USING btree (event_id, consumer);
CREATE INDEX dead_letters_redrive ON gateway.dead_letters USING btree (consumer, redrive_at) WHERE (redrive_at IS NOT NULL);
grant delete, insert, select, update on dead_letters to eligo_gateway;

create table features_to_tell (
  account_id text collate "C" not null,
  features text[] not null,
  version bigint not null,
  constraint features_to_tell_pkey PRIMARY KEY (account_id),
  constraint features_to_tell_version_key UNIQUE (version)
);
grant delete, insert, select on features_to_tell to eligo_gateway;

create table file_parts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  file_id text collate "C" not null,
  part smallint not null,
  bytes bytea not null,
  constraint file_parts_pkey PRIMARY KEY (account_id, test_mode, file_id, part),
  constraint file_parts_account_id_test_mode_file_id_fkey FOREIGN KEY (account_id, test_mode, file_id) REFERENCES files(account_id, test_mode, id) ON DELETE CASCADE,
  constraint file_parts_bytes_check CHECK (((length(bytes) >= 1) AND (length(bytes) <= 1048576))),
  constraint file_parts_part_check CHECK (((part >= 0) AND (part <= 9)))
);
alter table file_parts enable row level security;
alter table file_parts force row level security;
create policy account_scope on file_parts for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
CREATE TRIGGER guard_file_part BEFORE INSERT ON gateway.file_parts FOR EACH ROW EXECUTE FUNCTION guard_file_part();
grant insert, select on file_parts to eligo_gateway;

create table file_usage (
  account_id text collate "C" not null,
  test_mode boolean not null,
  files integer not null,
  bytes bigint not null,
  constraint file_usage_pkey PRIMARY KEY (account_id, test_mode),
  constraint file_usage_bytes_check CHECK ((bytes >= 0)),
  constraint file_usage_files_check CHECK ((files >= 0)),
  constraint files_within_quota CHECK (((files <= 10000) AND (bytes <= '10000000000'::bigint)))
);
alter table file_usage enable row level security;
alter table file_usage force row level security;
create policy account_scope on file_usage for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
grant insert, select, update on file_usage to eligo_gateway;

create table files (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  state text collate "C" default 'receiving'::text not null,
  purpose text collate "C",
  filename text,
  type text collate "C",
  size_bytes integer,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  expires_at timestamp(3) with time zone not null,
  store text collate "C" default 'postgres'::text not null,
  constraint files_pkey PRIMARY KEY (account_id, test_mode, id),
  constraint expires_after_its_creation CHECK ((expires_at > created_at)),
  constraint files_filename_check CHECK (((length(filename) >= 1) AND (length(filename) <= 255))),
  constraint files_purpose_check CHECK ((purpose = ANY (ARRAY['account_requirement'::text, 'dispute_evidence'::text]))),
  constraint files_size_bytes_check CHECK (((size_bytes >= 1) AND (size_bytes <= 10000000))),
  constraint files_state_check CHECK ((state = ANY (ARRAY['receiving'::text, 'stored'::text]))),
  constraint files_store_check CHECK ((store = ANY (ARRAY['postgres'::text, 's3'::text]))),
  constraint files_type_check CHECK ((type = ANY (ARRAY['pdf'::text, 'png'::text, 'jpeg'::text]))),
  constraint stored_is_described CHECK (((state = 'stored'::text) = ((purpose IS NOT NULL) AND (filename IS NOT NULL) AND (type IS NOT NULL) AND (size_bytes IS NOT NULL))))
);
alter table files enable row level security;
alter table files force row level security;
create policy account_scope on files for all to public
  using (((account_id = NULLIF(current_setting('eligo.account_id'::text, true), ''::text)) AND (test_mode = (NULLIF(current_setting('eligo.test_mode'::text, true), ''::text))::boolean)));
create policy finder_reads on files for select to eligo_finder
  using (true);
CREATE INDEX files_by_expiry ON gateway.files USING btree (expires_at, id);
comment on index files_by_expiry is 'Unused; files_by_store_and_expiry took its place. The next release drops it.';
CREATE INDEX files_by_store_and_expiry ON gateway.files USING btree (store, expires_at, id);
CREATE TRIGGER guard_file BEFORE UPDATE ON gateway.files FOR EACH ROW EXECUTE FUNCTION guard_file();
CREATE TRIGGER guard_new_file BEFORE INSERT ON gateway.files FOR EACH ROW EXECUTE FUNCTION guard_new_file();
CREATE TRIGGER uncount_file AFTER DELETE ON gateway.files FOR EACH ROW EXECUTE FUNCTION uncount_file();
grant delete, insert, select on files to eligo_gateway;
grant select on files to eligo_finder;
grant update (state), update (purpose), update (filename), update (type), update (size_bytes), update (expires_at) on files to eligo_gateway;

create table inbox (
  consumer text collate "C" not null,
  event_id text collate "C" not null,
  handled_at timestamp(3) with time zone default now() not null,
  constraint inbox_pkey PRIMARY KEY (consumer, event_id)
);
grant delete, select on inbox to eligo_finder;
grant insert, select on inbox to eligo_gateway;

create table migrations (
  id text collate "C" not null,
  checksum text not null,
  applied_at timestamp(3) with time zone default now() not null,
  constraint migrations_pkey PRIMARY KEY (id)
);
grant select on migrations to eligo_gateway;

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
CREATE INDEX operator_actions_by_account ON gateway.operator_actions USING btree (account_id, number) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_by_account_and_operator ON gateway.operator_actions USING btree (account_id, operator_name, number) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_by_operator ON gateway.operator_actions USING btree (operator_name, number);
CREATE UNIQUE INDEX operator_proof_once ON gateway.operator_actions USING btree (proof_id) WHERE (proof_id IS NOT NULL);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON gateway.operator_actions FOR EACH ROW EXECUTE FUNCTION refuse_changed_history();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON gateway.operator_actions FOR EACH STATEMENT EXECUTE FUNCTION refuse_changed_history();
grant insert (operator_id), insert (operator_name), insert (login_id), insert (action), insert (account_id), insert (test_mode), insert (subject_id), insert (request_id), insert (refused), insert (proof_id) on operator_actions to eligo_gateway;
grant select on operator_actions to eligo_gateway;

create table operators (
  operator_id text collate "C" not null,
  name text not null,
  credential_hash bytea not null,
  created_at timestamp(3) with time zone default now() not null,
  revoked_at timestamp(3) with time zone,
  constraint operators_pkey PRIMARY KEY (operator_id),
  constraint operators_credential_hash_key UNIQUE (credential_hash),
  constraint operators_name_key UNIQUE (name),
  constraint operators_credential_hash_check CHECK ((octet_length(credential_hash) = 32)),
  constraint operators_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);
grant insert, select on operators to eligo_gateway;
grant update (revoked_at) on operators to eligo_gateway;

create table organizations (
  organization_id text collate "C" not null,
  name text not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint organizations_pkey PRIMARY KEY (organization_id),
  constraint organizations_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);
grant insert, select, update on organizations to eligo_gateway;

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
CREATE TRIGGER follow_published_mark AFTER UPDATE OF published_at ON gateway.outbox FOR EACH ROW WHEN ((new.published_at IS DISTINCT FROM old.published_at)) EXECUTE FUNCTION follow_published_mark();
CREATE TRIGGER queue_event AFTER INSERT ON gateway.outbox REFERENCING NEW TABLE AS appended FOR EACH STATEMENT EXECUTE FUNCTION queue_event();
grant delete, select on outbox to eligo_finder;
grant insert, select on outbox to eligo_gateway;
grant update (payload) on outbox to eligo_finder;
grant update (published_at), update (stream_seq) on outbox to eligo_gateway;

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
CREATE TRIGGER places_ascend BEFORE INSERT ON gateway.outbox_positions FOR EACH ROW EXECUTE FUNCTION guard_places();
grant delete, insert, select, update on outbox_positions to eligo_gateway;
grant delete, select on outbox_positions to eligo_finder;

create table outbox_pruned (
  only_row boolean default true not null,
  aggregate_seq bigint not null,
  event_id text collate "C" not null,
  constraint outbox_pruned_pkey PRIMARY KEY (only_row),
  constraint outbox_pruned_only_row_check CHECK (only_row)
);
grant select on outbox_pruned to eligo_gateway;
grant select, update on outbox_pruned to eligo_finder;

create table outbox_queue (
  event_id text collate "C" not null,
  queued_again_at timestamp(3) with time zone,
  constraint outbox_queue_pkey PRIMARY KEY (event_id)
);
grant delete, insert, select on outbox_queue to eligo_gateway;
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
grant insert, select on outbox_repairs to eligo_gateway;
grant select on outbox_repairs to eligo_finder;
grant update (events), update (after_event_id), update (finished_at) on outbox_repairs to eligo_gateway;

create table outbox_stream (
  stream text collate "C" not null,
  created text not null,
  constraint outbox_stream_pkey PRIMARY KEY (stream)
);
grant delete, insert, select, update on outbox_stream to eligo_gateway;

create table shop_names_to_tell (
  account_id text collate "C" not null,
  name text not null,
  version bigint not null,
  constraint shop_names_to_tell_pkey PRIMARY KEY (account_id),
  constraint shop_names_to_tell_version_key UNIQUE (version)
);
grant delete, insert, select on shop_names_to_tell to eligo_gateway;

create table statements_to_tell (
  account_id text collate "C" not null,
  substantiation text,
  version bigint not null,
  constraint statements_to_tell_pkey PRIMARY KEY (account_id),
  constraint statements_to_tell_version_key UNIQUE (version)
);
grant delete, insert, select on statements_to_tell to eligo_gateway;

create table time_zones_to_tell (
  account_id text collate "C" not null,
  time_zone text not null,
  version bigint not null,
  constraint time_zones_to_tell_pkey PRIMARY KEY (account_id),
  constraint time_zones_to_tell_version_key UNIQUE (version)
);
grant delete, insert, select on time_zones_to_tell to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.expired_files(most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'gateway', 'pg_temp'
AS $function$
  select f.account_id, f.test_mode, f.id from gateway.files f where f.expires_at <= now() order by f.expires_at, f.id limit most
$function$;
alter function expired_files(most integer) owner to eligo_finder;
grant execute on function expired_files(most integer) to eligo_gateway;
comment on function expired_files(most integer) is 'Unused; expired_files_of_store took its place. The next release drops it.';

CREATE OR REPLACE FUNCTION gateway.expired_files_of_store(which text, after_at timestamp with time zone, after_id text, most integer)
 RETURNS TABLE(account_id text, test_mode boolean, id text, expires_at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'gateway', 'pg_temp'
AS $function$
  select f.account_id, f.test_mode, f.id, f.expires_at from gateway.files f
    where f.store = which and (f.expires_at, f.id) > (after_at, after_id) and f.expires_at <= now()
    order by f.expires_at, f.id limit most
$function$;
alter function expired_files_of_store(which text, after_at timestamp with time zone, after_id text, most integer) owner to eligo_finder;
grant execute on function expired_files_of_store(which text, after_at timestamp with time zone, after_id text, most integer) to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.follow_published_mark()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  begin
    if new.published_at is null then
      insert into "gateway".outbox_queue (event_id) values (new.event_id) on conflict do nothing;
      return null;
    end if;
    delete from "gateway".outbox_queue where event_id = new.event_id;
    insert into "gateway".outbox_positions as p (minute, last_seq, oldest_event_id, oldest_new_event_id)
      values (date_trunc('minute', clock_timestamp()), new.stream_seq, new.event_id, new.event_id)
      on conflict (minute) do update set last_seq = greatest(p.last_seq, excluded.last_seq), ended_at = excluded.ended_at,
        oldest_event_id = least(p.oldest_event_id, excluded.oldest_event_id),
        oldest_new_event_id = least(p.oldest_new_event_id, excluded.oldest_new_event_id);
    return null;
  end
  $function$;
alter function follow_published_mark() owner to eligo_owner;
grant execute on function follow_published_mark() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.guard_file()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  parts record;
begin
  if old.state = 'stored' and new.filename = 'erased' and new.expires_at <= old.expires_at
     and to_jsonb(new) - 'filename' - 'expires_at' = to_jsonb(old) - 'filename' - 'expires_at' then
    return new;
  end if;
  if old.state <> 'receiving' or new.state <> 'stored' then
    raise exception 'file % is %', old.id, old.state using errcode = 'check_violation', constraint = 'files_are_stored_once';
  end if;
  if old.store = 'postgres' then
    select count(*) as number, max(p.part) as last, sum(length(p.bytes)) as bytes into parts
      from gateway.file_parts p where p.account_id = old.account_id and p.test_mode = old.test_mode and p.file_id = old.id;
    if parts.bytes is distinct from new.size_bytes or parts.last is distinct from parts.number - 1 then
      raise exception 'the parts of file % are not all there', old.id
        using errcode = 'check_violation', constraint = 'file_is_the_sum_of_its_parts';
    end if;
  end if;
  insert into gateway.file_usage as u (account_id, test_mode, files, bytes) values (new.account_id, new.test_mode, 1, new.size_bytes)
    on conflict (account_id, test_mode) do update set files = u.files + 1, bytes = u.bytes + excluded.bytes;
  return new;
end $function$;
alter function guard_file() owner to eligo_owner;
grant execute on function guard_file() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.guard_file_part()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform from gateway.files f where f.account_id = new.account_id and f.test_mode = new.test_mode and f.id = new.file_id
    and f.state = 'receiving' and f.store = 'postgres' for share;
  if not found then
    raise exception 'file % takes no more parts', new.file_id
      using errcode = 'check_violation', constraint = 'files_are_stored_once';
  end if;
  return new;
end $function$;
alter function guard_file_part() owner to eligo_owner;
grant execute on function guard_file_part() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.guard_members()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform from gateway.organizations where organization_id = new.organization_id for no key update;
  if (select count(*) from gateway.accounts
       where organization_id = new.organization_id and account_id <> new.account_id) >= 100 then
    raise exception using errcode = 'check_violation', constraint = 'at_most_100_members', table = 'accounts',
      message = 'an organization has at most 100 members';
  end if;
  return new;
end $function$;
alter function guard_members() owner to eligo_owner;
grant execute on function guard_members() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.guard_new_file()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.state <> 'receiving' then
    raise exception 'file % begins without its parts', new.id
      using errcode = 'check_violation', constraint = 'file_is_the_sum_of_its_parts';
  end if;
  return new;
end $function$;
alter function guard_new_file() owner to eligo_owner;
grant execute on function guard_new_file() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.guard_places()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  declare
    taken bigint;
  begin
    select p.last_seq into taken from "gateway".outbox_positions p order by p.minute desc limit 1;
    if new.first_seq <= taken then
      raise exception 'place % of the stream is taken, up to %', new.first_seq, taken
        using errcode = 'unique_violation', constraint = 'places_ascend';
    end if;
    return new;
  end
  $function$;
alter function guard_places() owner to eligo_owner;
grant execute on function guard_places() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.notify_keys()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  changed text := '';
begin
  if tg_table_name = 'api_keys' then
    changed := old.key_id;
  elsif tg_op = 'UPDATE' and new.organization_id is not distinct from old.organization_id then
    changed := old.account_id;
  end if;
  perform pg_notify('eligo_gateway_keys', changed);
  return null;
end $function$;
alter function notify_keys() owner to eligo_owner;
grant execute on function notify_keys() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.prune_events(outbox_days integer, inbox_days integer, batch integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'gateway', 'pg_temp'
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
grant execute on function prune_events(outbox_days integer, inbox_days integer, batch integer) to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.queue_event()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
  begin
    insert into "gateway".outbox_queue (event_id) select event_id from appended;
    return null;
  end
  $function$;
alter function queue_event() owner to eligo_owner;
grant execute on function queue_event() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.queue_features()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from gateway.features_to_tell where account_id = new.account_id;
  insert into gateway.features_to_tell (account_id, features) values (new.account_id, new.features);
  perform pg_notify('eligo_gateway_statements', '');
  return null;
end $function$;
alter function queue_features() owner to eligo_owner;
grant execute on function queue_features() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.queue_shop_name()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from gateway.shop_names_to_tell where account_id = new.account_id;
  insert into gateway.shop_names_to_tell (account_id, name) values (new.account_id, coalesce(new.display_name, new.name));
  perform pg_notify('eligo_gateway_statements', '');
  return null;
end $function$;
alter function queue_shop_name() owner to eligo_owner;
grant execute on function queue_shop_name() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.queue_statement()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from gateway.statements_to_tell where account_id = new.account_id;
  insert into gateway.statements_to_tell (account_id, substantiation) values (new.account_id, new.substantiation);
  perform pg_notify('eligo_gateway_statements', '');
  return null;
end $function$;
alter function queue_statement() owner to eligo_owner;
grant execute on function queue_statement() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.queue_time_zone()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from gateway.time_zones_to_tell where account_id = new.account_id;
  insert into gateway.time_zones_to_tell (account_id, time_zone) values (new.account_id, new.time_zone);
  perform pg_notify('eligo_gateway_statements', '');
  return null;
end $function$;
alter function queue_time_zone() owner to eligo_owner;
grant execute on function queue_time_zone() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.raise_versions_to_tell()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'gateway', 'pg_temp'
AS $function$
declare
  least bigint;
begin
  lock table gateway.features_to_tell, gateway.shop_names_to_tell, gateway.statements_to_tell, gateway.time_zones_to_tell
    in share row exclusive mode;
  least := floor(extract(epoch from clock_timestamp()) * 1000000);
  if (select last_value < least from gateway.features_to_tell_version_seq) then
    perform setval('gateway.features_to_tell_version_seq', least);
  end if;
  if (select last_value < least from gateway.shop_names_to_tell_version_seq) then
    perform setval('gateway.shop_names_to_tell_version_seq', least);
  end if;
  if (select last_value < least from gateway.statements_to_tell_version_seq) then
    perform setval('gateway.statements_to_tell_version_seq', least);
  end if;
  if (select last_value < least from gateway.time_zones_to_tell_version_seq) then
    perform setval('gateway.time_zones_to_tell_version_seq', least);
  end if;
end $function$;
alter function raise_versions_to_tell() owner to eligo_owner;
grant execute on function raise_versions_to_tell() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.refuse_changed_history()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the audit log of operators is append-only'
    using errcode = 'check_violation', constraint = 'operator_actions_append_only';
end $function$;
alter function refuse_changed_history() owner to eligo_owner;
grant execute on function refuse_changed_history() to eligo_gateway;

CREATE OR REPLACE FUNCTION gateway.uncount_file()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.state = 'stored' then
    update gateway.file_usage u set files = u.files - 1, bytes = u.bytes - old.size_bytes
      where u.account_id = old.account_id and u.test_mode = old.test_mode;
  end if;
  return null;
end $function$;
alter function uncount_file() owner to eligo_owner;
grant execute on function uncount_file() to eligo_gateway;

alter default privileges in schema gateway grant delete, insert, select, update on tables to eligo_gateway;

alter default privileges in schema gateway grant execute on functions to eligo_gateway;

alter default privileges in schema gateway grant usage on sequences to eligo_gateway;
