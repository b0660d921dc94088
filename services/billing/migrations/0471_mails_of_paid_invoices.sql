-- Customers are mailed that an invoice was paid, if the account has it so.
alter table notice_settings
  add column mails_invoices boolean not null default false;

alter table subscription_mails
  -- Of the mail that an invoice was paid.
  add column invoice_id text collate "C",
  add constraint paid_mail_names_its_invoice check ((kind = 'paid') = (invoice_id is not null)) not valid,
  add constraint subscription_mail_kinds check (kind in ('trial_end', 'renewal', 'ended', 'paid')) not valid,
  drop constraint subscription_mails_kind_check;

create or replace function guard_subscription_mail() returns trigger language plpgsql set search_path = billing, pg_temp as $$
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
end $$;
