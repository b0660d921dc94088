-- The accounts after one that hold money, at most `accounts`, and of each the holds that have been due longest, at most `each`: accounts take turns. An
-- account without a due hold gives a row without an id, so that the next look goes on behind it.
create function checkout.due_holds(at timestamptz, accounts integer, each integer, after_account text, after_mode boolean)
  returns table (account_id text, test_mode boolean, id text)
  language plpgsql stable security definer set search_path = checkout, pg_temp as $$
declare
  is_any boolean;
begin
  account_id := after_account;
  test_mode := after_mode;
  for step in 1..accounts loop
    select i.account_id, i.test_mode into account_id, test_mode from checkout.payment_intents i
     where i.status = 'requires_capture' and (i.account_id, i.test_mode) > (due_holds.account_id, due_holds.test_mode)
     order by i.account_id, i.test_mode limit 1;
    exit when not found;
    is_any := false;
    for id in
      select i.id from checkout.payment_intents i
       where i.account_id = due_holds.account_id and i.test_mode = due_holds.test_mode and i.status = 'requires_capture'
         and i.hold_check_at <= at
       order by i.hold_check_at limit each
    loop
      is_any := true;
      return next;
    end loop;
    if not is_any then
      id := null;
      return next;
    end if;
  end loop;
end $$;

alter function checkout.due_holds(timestamptz, integer, integer, text, boolean) owner to eligo_finder;
revoke all on function checkout.due_holds(timestamptz, integer, integer, text, boolean) from public;
grant execute on function checkout.due_holds(timestamptz, integer, integer, text, boolean) to eligo_checkout;
