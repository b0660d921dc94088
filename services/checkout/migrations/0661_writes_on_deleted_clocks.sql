-- A process of the release before 0631 writes sessions and letters on clocks that were deleted, also once the job that takes them off has noted that a clock is
-- empty. They continue by the wall clock. Of use while such processes run beside this release.
create function checkout.leave_deleted_clock() returns trigger language plpgsql set search_path = checkout, pg_temp as $$
begin
  if exists (
    select from test_clocks c
     where c.account_id = new.account_id and c.test_mode = new.test_mode and c.id = new.test_clock_id and c.deleted_at is not null) then
    new.test_clock_id := null;
  end if;
  return new;
end $$;
create trigger leave_deleted_clock before insert on checkout.sessions for each row
  when (new.test_clock_id is not null) execute function checkout.leave_deleted_clock();
