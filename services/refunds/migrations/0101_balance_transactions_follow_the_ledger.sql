-- An operator gives each card's part of a refund, or of a capture, that an earlier release posted on another one's balance transaction its own. The processor's
-- movement that a balance transaction names changes then: only together with the ledger, which no longer has the old one there, and has the new one.
create or replace function refunds.guard_balance_transaction() returns trigger language plpgsql as $$
declare
  broken text := case
    when not (new.type in ('charge', 'refund', 'refund_failure', 'dispute', 'dispute_reversal', 'payout', 'payout_failure', 'application_fee',
      'adjustment', 'stripe_fee', 'other')) then 'balance_transactions_type_check'
    when new.type in ('charge', 'refund', 'refund_failure', 'dispute', 'dispute_reversal')
      and not ((new.type in ('refund', 'dispute')) = (new.amount_cents < 0) and new.amount_cents <> 0) then 'balance_transactions_check'
    when not (new.status in ('pending', 'available')) then 'balance_transactions_status_check'
    when tg_op = 'UPDATE' and old.processor_transaction_id is not null
      and (new.processor, new.processor_account, new.processor_transaction_id)
        is distinct from (old.processor, old.processor_account, old.processor_transaction_id)
      and (exists (select from refunds.ledger_transactions t
             where t.account_id = old.account_id and t.test_mode = old.test_mode and t.processor = old.processor
               and t.processor_account = old.processor_account and t.processor_transaction_id = old.processor_transaction_id
               and t.balance_transaction_id = old.id)
        or new.processor_transaction_id is not null and not exists (select from refunds.ledger_transactions t
             where t.account_id = new.account_id and t.test_mode = new.test_mode and t.processor = new.processor
               and t.processor_account = new.processor_account and t.processor_transaction_id = new.processor_transaction_id
               and t.balance_transaction_id = new.id)
        or not exists (select from refunds.ledger_transactions t
             where t.account_id = old.account_id and t.test_mode = old.test_mode and t.processor = old.processor
               and t.processor_account = old.processor_account and t.processor_transaction_id = old.processor_transaction_id))
      then 'processor_transaction_is_final'
  end;
begin
  if broken is not null then
    raise exception 'balance transaction % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
