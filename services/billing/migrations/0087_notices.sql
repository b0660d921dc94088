-- Mails that tell a customer that a renewal's payment failed, and where to pay it.

-- An account and mode without a row mails none. merchant_name is the shop as its customers know it.
create table notice_settings (
  account_id text collate "C" not null,
  test_mode boolean not null,
  merchant_name text not null check (length(merchant_name) between 1 and 200 and merchant_name !~ '[[:cntrl:]]'),
  updated_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode)
);

-- What a mail says, and its address, are read when it is sent: a row holds neither.
create table notice_mails (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  invoice_id text collate "C" not null,
  attempt smallint not null check (attempt >= 1),
  -- Days since the invoice's first failure.
  failure_day smallint not null check (failure_day >= 0),
  status text collate "C" not null check (status in ('pending', 'sent', 'failed', 'dropped')),
  tries integer not null default 0 check (tries >= 0),
  epoch integer not null default 0,
  lease_until timestamptz,
  next_try_at timestamptz,
  failure_code text,
  sent_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, invoice_id) references invoices,
  constraint pending_has_a_next_try check ((status = 'pending') = (next_try_at is not null)),
  constraint sent_has_a_time check ((status = 'sent') = (sent_at is not null)),
  constraint one_notice_for_each_attempt unique (account_id, test_mode, invoice_id, attempt),
  -- A partner can have an invoice charged as often as it likes. The schedule tries once a day at most.
  constraint one_notice_a_day unique (account_id, test_mode, invoice_id, failure_day)
);
create index notice_mails_due on notice_mails (next_try_at) where status = 'pending';

do $$
declare name text;
begin
  foreach name in array array['notice_settings', 'notice_mails'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format($policy$create policy account_scope on %I using (
      account_id = nullif(current_setting('eligo.account_id', true), '')
      and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean)$policy$, name);
  end loop;
end $$;
revoke insert, update, delete on notice_settings from :"role";
revoke update, delete on notice_mails from :"role";
grant update (status, tries, epoch, lease_until, next_try_at, failure_code, sent_at) on notice_mails to :"role";

create function guard_notice_mail() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  if tg_op = 'UPDATE' then
    if old.status <> 'pending' then
      raise exception 'mail % is %', old.id, old.status using errcode = 'check_violation', constraint = 'mails_end_once';
    end if;
    return new;
  end if;
  if not exists (select 1 from invoices where account_id = new.account_id and test_mode = new.test_mode and id = new.invoice_id
                   and status = 'open' and attempts = new.attempt) then
    raise exception 'a notice is of the last attempt of an open invoice'
      using errcode = 'check_violation', constraint = 'notice_of_an_open_invoice';
  end if;
  return new;
end $$;
create trigger guard_notice_mail before insert or update on notice_mails for each row execute function guard_notice_mail();

create policy finder_reads on notice_mails for select to eligo_finder using (true);
grant select on notice_mails to eligo_finder;
create function due_notice_mails(most integer) returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = billing, pg_temp as $$
  select m.account_id, m.test_mode, m.id from notice_mails m
   where m.status = 'pending' and m.next_try_at <= now() order by m.next_try_at limit most
$$;
create function next_notice_mail() returns timestamptz
  language sql stable security definer set search_path = billing, pg_temp as $$
  select m.next_try_at from notice_mails m where m.status = 'pending' order by m.next_try_at limit 1
$$;
alter function due_notice_mails(integer) owner to eligo_finder;
alter function next_notice_mail() owner to eligo_finder;
revoke all on function due_notice_mails(integer), next_notice_mail() from public;
grant execute on function due_notice_mails(integer), next_notice_mail() to :"role";
