-- A coupon that a session brings waits for the session as its prices do, and is removed with them when the session never comes to be.

-- Those that were made before are kept: nothing says of them whether their session came to be.
alter table coupons add column pending boolean not null default false;
-- What was ever counted is kept, whatever became of its session.
alter table coupons add constraint coupons_pending_is_unused check (not pending or inline and times_redeemed = 0) not valid;

-- Served by the indexes that are made next: who waits for a session, oldest first.
create policy abandoned_coupon_read on coupons for select to eligo_finder using (true);
create policy abandoned_coupon_read on inline_coupons for select to eligo_finder using (true);
grant select on coupons, inline_coupons to eligo_finder;
create function find_abandoned_coupons(made_before timestamptz, most integer)
  returns table (account_id text, test_mode boolean, session_id text, discount_index integer, coupon_id text)
  language sql stable security definer set search_path = :"schema", pg_temp as $$
    select i.account_id, i.test_mode, i.session_id, i.discount_index, i.coupon_id
    from (select c.account_id, c.test_mode, c.coupon_id from coupons c
          where c.pending and c.inline and c.created_at < made_before order by c.created_at limit most) waiting
    join inline_coupons i on i.account_id = waiting.account_id and i.test_mode = waiting.test_mode and i.coupon_id = waiting.coupon_id
  $$;
alter function find_abandoned_coupons owner to eligo_finder;
revoke all on function find_abandoned_coupons from public;
grant execute on function find_abandoned_coupons to :"role";

create trigger coupons_deleted_pending before delete on coupons for each row when (not old.pending) execute function refuse_unless_pending();
grant delete on coupons, inline_coupons to :"role";
