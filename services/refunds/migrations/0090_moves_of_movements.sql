-- A move takes an amount of a movement out of suspense. The transaction of another move also has a posting in suspense, and is none.
create or replace function refunds.guard_suspense_move() returns trigger language plpgsql as $$
declare
  suspense_cents bigint;
  moved_cents bigint;
begin
  if tg_op <> 'INSERT' then
    raise exception 'suspense move % cannot be changed or deleted', old.id
      using errcode = 'check_violation', constraint = 'suspense_moves_are_final';
  end if;
  -- The lock makes the moves of one movement wait for each other.
  perform from refunds.ledger_transactions t
    where t.account_id = new.account_id and t.test_mode = new.test_mode and t.id = new.moved_transaction_id
      and t.processor_transaction_id is not null for no key update;
  if not found then
    raise exception 'ledger transaction % is not a movement on the balance', new.moved_transaction_id
      using errcode = 'check_violation', constraint = 'suspense_moves_are_of_movements';
  end if;
  select coalesce(sum(p.amount_cents), 0) into suspense_cents from refunds.ledger_postings p
    where p.account_id = new.account_id and p.test_mode = new.test_mode and p.transaction_id = new.moved_transaction_id and p.ledger_account = 'suspense';
  select coalesce(sum(m.amount_cents), 0) into moved_cents from refunds.suspense_moves m
    where m.account_id = new.account_id and m.test_mode = new.test_mode and m.moved_transaction_id = new.moved_transaction_id;
  if moved_cents + new.amount_cents > abs(suspense_cents) then
    raise exception 'ledger transaction % has % in suspense, of which % were moved', new.moved_transaction_id, suspense_cents, moved_cents
      using errcode = 'check_violation', constraint = 'moved_within_suspense';
  end if;
  return new;
end $$;
