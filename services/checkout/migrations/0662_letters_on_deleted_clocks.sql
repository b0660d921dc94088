-- As 0661 has it for sessions. A decision locks its session and then writes its letter, so the two tables are not locked in one transaction.
create trigger leave_deleted_clock before insert on checkout.letters for each row
  when (new.test_clock_id is not null) execute function checkout.leave_deleted_clock();
