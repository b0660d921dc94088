-- When a mail was written by the wall clock: created_at is of the subscription's clock, which may be a test clock. Null in mails of earlier releases.
alter table billing.notice_mails add column written_at timestamptz(3);
alter table billing.notice_mails alter column written_at set default now();

-- A process of the release before drops a mail of an account without settings as turned_off, a code that this release does not give to a mail that asks to confirm:
-- it stays for half an hour, for a process of this release. What the other one took is no try.
create or replace function billing.guard_notice_mail() returns trigger language plpgsql set search_path = billing, pg_temp as $$
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
end $$;
