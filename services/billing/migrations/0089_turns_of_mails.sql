-- The accounts and modes after one whose mails wait, and whether one of them is due. Accounts take turns, so that the mails of one, such as those of a day on
-- which many subscriptions renew, do not keep the others waiting.
create function receipt_mail_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language sql stable security definer set search_path = billing, pg_temp as $$
  with recursive turns as (
    (select m.account_id, m.test_mode, 1 as turn from receipt_mails m
      where m.status = 'pending' and (m.account_id, m.test_mode) > (after_account collate "C", after_mode)
      order by m.account_id, m.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select m.account_id, m.test_mode from receipt_mails m
       where m.status = 'pending' and (m.account_id, m.test_mode) > (t.account_id, t.test_mode)
       order by m.account_id, m.test_mode limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, exists (select from receipt_mails m
    where m.account_id = t.account_id and m.test_mode = t.test_mode and m.status = 'pending' and m.next_try_at <= now()) from turns t
$$;
create function notice_mail_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language sql stable security definer set search_path = billing, pg_temp as $$
  with recursive turns as (
    (select m.account_id, m.test_mode, 1 as turn from notice_mails m
      where m.status = 'pending' and (m.account_id, m.test_mode) > (after_account collate "C", after_mode)
      order by m.account_id, m.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select m.account_id, m.test_mode from notice_mails m
       where m.status = 'pending' and (m.account_id, m.test_mode) > (t.account_id, t.test_mode)
       order by m.account_id, m.test_mode limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, exists (select from notice_mails m
    where m.account_id = t.account_id and m.test_mode = t.test_mode and m.status = 'pending' and m.next_try_at <= now()) from turns t
$$;
alter function receipt_mail_turns(text, boolean, integer) owner to eligo_finder;
alter function notice_mail_turns(text, boolean, integer) owner to eligo_finder;
revoke all on function receipt_mail_turns(text, boolean, integer), notice_mail_turns(text, boolean, integer) from public;
grant execute on function receipt_mail_turns(text, boolean, integer), notice_mail_turns(text, boolean, integer) to :"role";
