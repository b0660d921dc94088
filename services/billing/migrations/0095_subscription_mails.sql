-- Mails that announce the end of a trial or another year, and the mail that a subscription ended because nobody paid.

-- reminder_days: how long before the end of a trial or a year its customer is mailed; null: never. manage_url: where customers change their card or cancel.
alter table notice_settings
  add column reminder_days smallint check (reminder_days between 1 and 60),
  add column manage_url text check (length(manage_url) <= 500 and manage_url ~ '^https://[^[:space:][:cntrl:]]+$');
grant insert, update, delete on notice_settings to :"role";

-- remind_at: when its customer is mailed that the trial ends or another year begins; null once that is done.
alter table subscriptions add column remind_at timestamptz(3);

-- What is due is that of domain/due-step.ts; a test compares both. A reminder is set with each period of a trial or of a year, also while the account has
-- reminders off, so that turning them on concerns the periods that have begun.
create or replace function set_due() returns trigger language plpgsql as $$
declare
  days integer;
begin
  if not (new.status = 'trialing' or new.interval = 'year' or (new.interval = 'month' and new.interval_count >= 12)
      or (new.interval = 'week' and new.interval_count >= 52) or (new.interval = 'day' and new.interval_count >= 365))
      -- A trial that is ended now is not announced by an event either.
      or (tg_op = 'UPDATE' and new.status = 'trialing' and new.notice_at is null and new.current_period_end <> old.current_period_end) then
    new.remind_at := null;
  elsif tg_op = 'INSERT' or new.current_period_end <> old.current_period_end then
    select reminder_days into days from billing.notice_settings where account_id = new.account_id and test_mode = new.test_mode;
    new.remind_at := greatest(new.current_period_start, new.current_period_end - coalesce(days, 7) * interval '24 hours');
  end if;
  new.due_at := case
    when new.status in ('incomplete', 'trialing', 'active', 'past_due', 'unpaid', 'paused') then least(
      new.cancel_at,
      case when new.cancel_at_period_end then new.current_period_end end,
      case when new.status in ('trialing', 'active') and new.payment_at is null then least(new.current_period_end, new.remind_at) end,
      new.payment_at, new.notice_at, new.expires_at)
    when new.status = 'canceled' then new.payment_at end;
  new.work_at := case when new.test_clock_id is null and new.due_at is not null then greatest(new.due_at, new.held_until) end;
  return new;
end $$;

-- What a mail says, and its address, are read when it is sent: a row holds neither.
create table subscription_mails (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  subscription_id text collate "C" not null,
  kind text collate "C" not null check (kind in ('trial_end', 'renewal', 'ended')),
  -- The end of the trial or of the year, or when the subscription ended.
  about timestamptz(3) not null,
  status text collate "C" not null check (status in ('pending', 'sent', 'failed', 'dropped')),
  tries integer not null default 0 check (tries >= 0),
  epoch integer not null default 0,
  lease_until timestamptz,
  next_try_at timestamptz,
  failure_code text,
  sent_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, subscription_id) references subscriptions,
  constraint pending_has_a_next_try check ((status = 'pending') = (next_try_at is not null)),
  constraint sent_has_a_time check ((status = 'sent') = (sent_at is not null)),
  constraint one_mail_of_a_kind_and_time unique (account_id, test_mode, subscription_id, kind, about)
);
create index subscription_mails_due on subscription_mails (next_try_at) where status = 'pending';
create index subscription_mails_due_of_account on subscription_mails (account_id, test_mode, next_try_at) where status = 'pending';
alter table subscription_mails enable row level security;
alter table subscription_mails force row level security;
create policy account_scope on subscription_mails using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke update, delete on subscription_mails from :"role";
grant update (status, tries, epoch, lease_until, next_try_at, failure_code, sent_at) on subscription_mails to :"role";

create function guard_subscription_mail() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  if tg_op = 'UPDATE' then
    if old.status <> 'pending' then
      raise exception 'mail % is %', old.id, old.status using errcode = 'check_violation', constraint = 'mails_end_once';
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
create trigger guard_subscription_mail before insert or update on subscription_mails for each row execute function guard_subscription_mail();

create policy finder_reads on subscription_mails for select to eligo_finder using (true);
grant select on subscription_mails to eligo_finder;
-- As the other mails: the accounts and modes after one whose mails wait, and whether one of them is due.
create function subscription_mail_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language sql stable security definer set search_path = billing, pg_temp as $$
  with recursive turns as (
    (select m.account_id, m.test_mode, 1 as turn from subscription_mails m
      where m.status = 'pending' and (m.account_id, m.test_mode) > (after_account collate "C", after_mode)
      order by m.account_id, m.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select m.account_id, m.test_mode from subscription_mails m
       where m.status = 'pending' and (m.account_id, m.test_mode) > (t.account_id, t.test_mode)
       order by m.account_id, m.test_mode limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, exists (select from subscription_mails m
    where m.account_id = t.account_id and m.test_mode = t.test_mode and m.status = 'pending' and m.next_try_at <= now()) from turns t
$$;
create function next_subscription_mail() returns timestamptz
  language sql stable security definer set search_path = billing, pg_temp as $$
  select m.next_try_at from subscription_mails m where m.status = 'pending' order by m.next_try_at limit 1
$$;
alter function subscription_mail_turns(text, boolean, integer) owner to eligo_finder;
alter function next_subscription_mail() owner to eligo_finder;
revoke all on function subscription_mail_turns(text, boolean, integer), next_subscription_mail() from public;
grant execute on function subscription_mail_turns(text, boolean, integer), next_subscription_mail() to :"role";
