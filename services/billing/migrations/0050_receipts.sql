-- Receipts of sessions, and the mails that carry them.
create table receipts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  checkout_session_id text collate "C" not null,
  subscription_id text collate "C",
  email text not null check (length(email) between 3 and 320),
  amount_cents bigint not null check (amount_cents > 0),
  -- What the documents say; they are rendered from it once, when they are first needed, and then never change.
  content jsonb not null,
  html text,
  pdf bytea,
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id),
  -- A session is paid once, so it has one receipt, however often the command arrives.
  constraint one_receipt_for_each_session unique (account_id, test_mode, checkout_session_id),
  constraint both_documents_or_none check ((html is null) = (pdf is null))
);
create index receipts_by_subscription on receipts (account_id, test_mode, subscription_id, id) where subscription_id is not null;

create table receipt_mails (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  receipt_id text collate "C" not null,
  -- Null: the shop asked for it again.
  cause text collate "C" check (cause = 'issued'),
  status text collate "C" not null check (status in ('pending', 'sent', 'failed')),
  tries integer not null default 0 check (tries >= 0),
  epoch integer not null default 0,
  lease_until timestamptz,
  next_try_at timestamptz,
  failure_code text,
  sent_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, receipt_id) references receipts,
  constraint pending_has_a_next_try check ((status = 'pending') = (next_try_at is not null)),
  constraint sent_has_a_time check ((status = 'sent') = (sent_at is not null))
);
create unique index one_mail_for_each_cause on receipt_mails (account_id, test_mode, receipt_id, cause) where cause is not null;
-- Asking again while a mail waits adds none.
create unique index one_pending_mail_for_each_receipt on receipt_mails (account_id, test_mode, receipt_id) where status = 'pending';
create index receipt_mails_by_receipt on receipt_mails (account_id, test_mode, receipt_id, id);
create index receipt_mails_due on receipt_mails (next_try_at) where status = 'pending';

do $$
declare name text;
begin
  foreach name in array array['receipts', 'receipt_mails'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format($policy$create policy account_scope on %I using (
      account_id = nullif(current_setting('eligo.account_id', true), '')
      and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean)$policy$, name);
  end loop;
end $$;
revoke update, delete on receipts, receipt_mails from :"role";
grant update (html, pdf) on receipts to :"role";
grant update (status, tries, epoch, lease_until, next_try_at, failure_code, sent_at) on receipt_mails to :"role";

create function guard_receipt() returns trigger language plpgsql as $$
begin
  if old.html is not null then
    raise exception 'the documents of receipt % exist', old.id using errcode = 'check_violation', constraint = 'documents_never_change';
  end if;
  return new;
end $$;
create trigger guard_receipt before update on receipts for each row execute function guard_receipt();

create function guard_receipt_mail() returns trigger language plpgsql as $$
begin
  if old.status <> 'pending' then
    raise exception 'mail % is %', old.id, old.status using errcode = 'check_violation', constraint = 'mails_end_once';
  end if;
  return new;
end $$;
create trigger guard_receipt_mail before update on receipt_mails for each row execute function guard_receipt_mail();

create policy finder_reads on receipt_mails for select to eligo_finder using (true);
grant select on receipt_mails to eligo_finder;
create function due_receipt_mails(most integer) returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = billing, pg_temp as $$
  select m.account_id, m.test_mode, m.id from receipt_mails m
   where m.status = 'pending' and m.next_try_at <= now() order by m.next_try_at limit most
$$;
create function next_receipt_mail() returns timestamptz
  language sql stable security definer set search_path = billing, pg_temp as $$
  select m.next_try_at from receipt_mails m where m.status = 'pending' order by m.next_try_at limit 1
$$;
alter function due_receipt_mails(integer) owner to eligo_finder;
alter function next_receipt_mail() owner to eligo_finder;
revoke all on function due_receipt_mails(integer), next_receipt_mail() from public;
grant execute on function due_receipt_mails(integer), next_receipt_mail() to :"role";
