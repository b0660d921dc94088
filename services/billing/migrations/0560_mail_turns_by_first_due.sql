-- Whether a mail of an account is due is read with the account itself: the first of an account by the index is the one that is due first. A look-up of its own could read the due ones of
-- all accounts by time, where Postgres expected few.
create or replace function receipt_mail_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language sql stable security definer set search_path = billing, pg_temp as $$
  with recursive turns as (
    (select m.account_id, m.test_mode, m.next_try_at, 1 as turn from receipt_mails m
      where m.status = 'pending' and (m.account_id, m.test_mode) > (after_account collate "C", after_mode)
      order by m.account_id, m.test_mode, m.next_try_at limit 1)
    union all
    select n.account_id, n.test_mode, n.next_try_at, t.turn + 1 from turns t cross join lateral (
      select m.account_id, m.test_mode, m.next_try_at from receipt_mails m
       where m.status = 'pending' and (m.account_id, m.test_mode) > (t.account_id, t.test_mode)
       order by m.account_id, m.test_mode, m.next_try_at limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, t.next_try_at <= now() from turns t
$$;
create or replace function notice_mail_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language sql stable security definer set search_path = billing, pg_temp as $$
  with recursive turns as (
    (select m.account_id, m.test_mode, m.next_try_at, 1 as turn from notice_mails m
      where m.status = 'pending' and (m.account_id, m.test_mode) > (after_account collate "C", after_mode)
      order by m.account_id, m.test_mode, m.next_try_at limit 1)
    union all
    select n.account_id, n.test_mode, n.next_try_at, t.turn + 1 from turns t cross join lateral (
      select m.account_id, m.test_mode, m.next_try_at from notice_mails m
       where m.status = 'pending' and (m.account_id, m.test_mode) > (t.account_id, t.test_mode)
       order by m.account_id, m.test_mode, m.next_try_at limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, t.next_try_at <= now() from turns t
$$;
create or replace function subscription_mail_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language sql stable security definer set search_path = billing, pg_temp as $$
  with recursive turns as (
    (select m.account_id, m.test_mode, m.next_try_at, 1 as turn from subscription_mails m
      where m.status = 'pending' and (m.account_id, m.test_mode) > (after_account collate "C", after_mode)
      order by m.account_id, m.test_mode, m.next_try_at limit 1)
    union all
    select n.account_id, n.test_mode, n.next_try_at, t.turn + 1 from turns t cross join lateral (
      select m.account_id, m.test_mode, m.next_try_at from subscription_mails m
       where m.status = 'pending' and (m.account_id, m.test_mode) > (t.account_id, t.test_mode)
       order by m.account_id, m.test_mode, m.next_try_at limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, t.next_try_at <= now() from turns t
$$;
