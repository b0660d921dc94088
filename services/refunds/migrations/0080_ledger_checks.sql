-- The sums of a ledger transaction are checked once, at commit, and not once more for each of its postings.
create or replace function refunds.check_ledger_postings() returns trigger language plpgsql as $$
declare
  sum_cents bigint;
  balance_cents bigint;
begin
  select coalesce(sum(p.amount_cents), 0), coalesce(sum(p.amount_cents) filter (where p.ledger_account = 'processor_balance'), 0)
    into sum_cents, balance_cents from refunds.ledger_postings p
   where p.account_id = new.account_id and p.test_mode = new.test_mode and p.transaction_id = new.id;
  if sum_cents <> 0 then
    raise exception 'the postings of ledger transaction % sum to %', new.id, sum_cents
      using errcode = 'check_violation', constraint = 'ledger_postings_sum_to_nothing';
  end if;
  if balance_cents <> coalesce(new.net_cents, 0) then
    raise exception 'ledger transaction % moves % on the balance and not %', new.id, balance_cents, coalesce(new.net_cents, 0)
      using errcode = 'check_violation', constraint = 'ledger_moves_the_net';
  end if;
  return null;
end $$;

-- A posting is written in the database transaction of its ledger transaction, whose commit checks the sums.
create function refunds.check_posted_with_transaction() returns trigger language plpgsql as $$
begin
  if exists (
    select from (select distinct account_id, test_mode, transaction_id from added) p
     where not exists (
       select from refunds.ledger_transactions t
        where t.account_id = p.account_id and t.test_mode = p.test_mode and t.id = p.transaction_id and t.xmin = pg_current_xact_id()::xid)
  ) then
    raise exception 'postings are written with their ledger transaction'
      using errcode = 'check_violation', constraint = 'posted_with_its_transaction';
  end if;
  return null;
end $$;

drop trigger check_ledger_postings on refunds.ledger_postings;
create trigger check_posted_with_transaction after insert on refunds.ledger_postings
  referencing new table as added for each statement execute function refunds.check_posted_with_transaction();
