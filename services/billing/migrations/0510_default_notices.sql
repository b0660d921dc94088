-- The mail that asks a customer to confirm a payment to the bank goes out without any setting. A row says whether an account and mode mails it; without a row it does.
create table billing.authentication_notices (
  account_id text collate "C" not null,
  test_mode boolean not null,
  is_mailed boolean not null,
  updated_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode)
);
alter table billing.authentication_notices enable row level security;
alter table billing.authentication_notices force row level security;
create policy account_scope on billing.authentication_notices using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);

-- Whether a mail asks to confirm a payment: such a one needs no row in notice_settings.
alter table billing.notice_mails add column asks_to_confirm boolean not null default false;

-- A process of the release before drops a mail of an account without settings as turned_off, a code that this release does not give to a mail that asks to confirm:
-- it stays for half an hour, for a process of this release.
create or replace function billing.guard_notice_mail() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  if tg_op = 'UPDATE' then
    if old.status <> 'pending' then
      raise exception 'mail % is %', old.id, old.status using errcode = 'check_violation', constraint = 'mails_end_once';
    end if;
    if old.asks_to_confirm and old.tries <= 30 and new.status = 'dropped' and new.failure_code = 'turned_off' then
      new.status := 'pending';
      new.next_try_at := now() + interval '1 minute';
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
