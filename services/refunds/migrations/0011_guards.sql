-- One guard for each table in place of its check constraints. The server parses and compiles every check constraint of a table again for each
-- statement that writes to it; a guard is compiled once for each connection. It refuses what the constraints refused, under their names and with
-- their error code (ADR 17).

create or replace function refunds.guard_refund() returns trigger language plpgsql as $$
declare
  broken text;
begin
  if tg_op = 'UPDATE' then
    -- The moves are those of domain/refund-states.ts; a test tries every pair in both.
    if new.status <> old.status and (old.status, new.status) not in (
      ('requested', 'pending'), ('requested', 'refused'),
      ('pending', 'requires_action'), ('pending', 'succeeded'), ('pending', 'failed'), ('pending', 'canceled'),
      ('requires_action', 'pending'), ('requires_action', 'succeeded'), ('requires_action', 'failed'), ('requires_action', 'canceled'),
      ('succeeded', 'failed')
    ) then
      raise exception 'a refund does not move from % to %', old.status, new.status
        using errcode = 'check_violation', constraint = 'refund_state_table';
    end if;
    if old.amount_cents is distinct from new.amount_cents and old.amount_cents is not null then
      raise exception 'a refund''s amount does not change'
        using errcode = 'check_violation', constraint = 'refund_amount_is_final';
    end if;
  end if;
  broken := case
    when not (new.status in ('requested', 'refused', 'pending', 'requires_action', 'succeeded', 'failed', 'canceled')) then 'refunds_status_check'
    when not (jsonb_typeof(new.metadata) = 'object') then 'refunds_metadata_check'
    when not (new.amount_cents between 1 and 9007199254740991) then 'refunds_amount_cents_check'
    when not ((new.subject_session_id is null) <> (new.subject_payment_intent_id is null)) then 'one_subject'
    when not ((new.status in ('requested', 'refused')) = (new.amount_cents is null)
      and (new.amount_cents is null) = (new.payment_intent_id is null)
      and (new.amount_cents is null) = (new.created_at is null)
      and (new.amount_cents is null) = (new.balance_transaction_id is null)) then 'whole_once_pending'
    when not ((new.status = 'refused') = (new.refusal_code is not null)) then 'refused_for_a_reason'
    when not (new.failed_cents between 0 and coalesce(new.amount_cents, 0)) then 'failed_within_amount'
    when not (new.next_check_at is null or new.status = 'requested') then 'only_requested_is_checked'
  end;
  if broken is not null then
    raise exception 'refund % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
drop trigger guard_refund on refunds.refunds;
create trigger guard_refund before insert or update on refunds.refunds for each row execute function refunds.guard_refund();
alter table refunds.refunds
  drop constraint refunds_status_check, drop constraint refunds_metadata_check, drop constraint refunds_amount_cents_check,
  drop constraint one_subject, drop constraint whole_once_pending, drop constraint refused_for_a_reason,
  drop constraint failed_within_amount, drop constraint only_requested_is_checked;

create or replace function refunds.guard_refund_item() returns trigger language plpgsql as $$
declare
  broken text;
begin
  if tg_op = 'UPDATE' and new.status <> old.status and (old.status, new.status) not in (
    ('pending', 'requires_action'), ('pending', 'succeeded'), ('pending', 'releasing'),
    ('requires_action', 'pending'), ('requires_action', 'succeeded'), ('requires_action', 'releasing'),
    ('succeeded', 'releasing'), ('releasing', 'failed'), ('releasing', 'canceled')
  ) then
    raise exception 'a card''s part of a refund does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'refund_item_state_table';
  end if;
  broken := case
    when not (new.position >= 0) then 'refund_items_position_check'
    when not (new.amount_cents > 0) then 'refund_items_amount_cents_check'
    when not (new.status in ('pending', 'requires_action', 'succeeded', 'releasing', 'failed', 'canceled')) then 'refund_items_status_check'
    when not (new.end_status in ('failed', 'canceled')) then 'refund_items_end_status_check'
    when not ((new.status in ('releasing', 'failed', 'canceled')) = (new.end_status is not null)) then 'releasing_has_an_end'
    when not ((new.next_check_at is not null) = (new.status = 'releasing')) then 'only_releasing_is_checked'
  end;
  if broken is not null then
    raise exception 'part % of refund % violates %', new.payment_intent_id, new.refund_id, broken
      using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
drop trigger guard_refund_item on refunds.refund_items;
create trigger guard_refund_item before insert or update on refunds.refund_items
  for each row execute function refunds.guard_refund_item();
alter table refunds.refund_items
  drop constraint refund_items_position_check, drop constraint refund_items_amount_cents_check,
  drop constraint refund_items_status_check, drop constraint refund_items_end_status_check,
  drop constraint releasing_has_an_end, drop constraint only_releasing_is_checked;

create or replace function refunds.guard_refund_attempt() returns trigger language plpgsql as $$
declare
  broken text;
begin
  if tg_op = 'UPDATE' and new.status <> old.status and (old.status, new.status) not in (
    ('created', 'sending'), ('sending', 'unknown'), ('unknown', 'sending'),
    ('sending', 'accepted'), ('sending', 'failed'), ('unknown', 'accepted'), ('unknown', 'failed'),
    ('accepted', 'ended')
  ) then
    raise exception 'an attempt does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'refund_attempt_state_table';
  end if;
  broken := case
    when not (new.amount_cents > 0) then 'refund_attempts_amount_cents_check'
    when not (new.status in ('created', 'sending', 'unknown', 'accepted', 'failed', 'ended')) then 'refund_attempts_status_check'
    when not ((new.status in ('accepted', 'ended')) = (new.processor_refund_id is not null)) then 'known_once_accepted'
    when not (new.status in ('created', 'failed') or new.first_sent_at is not null) then 'sent_before_known'
  end;
  if broken is not null then
    raise exception 'attempt % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
drop trigger guard_refund_attempt on refunds.refund_attempts;
create trigger guard_refund_attempt before insert or update on refunds.refund_attempts
  for each row execute function refunds.guard_refund_attempt();
-- asks_for_its_item names the item as well, by all that the processor is asked for.
alter table refunds.refund_attempts
  drop constraint refund_attempts_amount_cents_check, drop constraint refund_attempts_status_check,
  drop constraint known_once_accepted, drop constraint sent_before_known,
  drop constraint refund_attempts_account_id_test_mode_refund_id_payment_int_fkey;

create function refunds.guard_balance_transaction() returns trigger language plpgsql as $$
declare
  broken text := case
    when not (new.type in ('refund', 'refund_failure')) then 'balance_transactions_type_check'
    when not ((new.type = 'refund') = (new.amount_cents < 0) and new.amount_cents <> 0) then 'balance_transactions_check'
    when not (new.status in ('pending', 'available')) then 'balance_transactions_status_check'
  end;
begin
  if broken is not null then
    raise exception 'balance transaction % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
create trigger guard_balance_transaction before insert or update on refunds.balance_transactions
  for each row execute function refunds.guard_balance_transaction();
alter table refunds.balance_transactions
  drop constraint balance_transactions_type_check, drop constraint balance_transactions_check,
  drop constraint balance_transactions_status_check;

-- A movement is one row with both its sides, so that it balances by its shape: the amount is debited to ledger_account and credited to
-- credit_account. Rows without credit_account are one side of two, and are still summed at commit.
alter table refunds.ledger_entries add column credit_account text collate "C";
create function refunds.guard_ledger_entry() returns trigger language plpgsql as $$
declare
  broken text := case
    when not (new.ledger_account in ('refunds', 'refunds_payable', 'processor_balance')) then 'ledger_entries_ledger_account_check'
    when not (new.amount_cents <> 0) then 'ledger_entries_amount_cents_check'
    when not (new.kind in ('refund_pending', 'refund_succeeded', 'refund_failed', 'refund_returned')) then 'ledger_entries_kind_check'
    when not (new.credit_account is null or (new.amount_cents > 0 and new.credit_account <> new.ledger_account
      and new.credit_account in ('refunds', 'refunds_payable', 'processor_balance'))) then 'movement_has_two_sides'
  end;
begin
  if broken is not null then
    raise exception 'ledger entry % violates %', new.transaction_id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
create trigger guard_ledger_entry before insert or update on refunds.ledger_entries
  for each row execute function refunds.guard_ledger_entry();
drop trigger check_ledger_transaction on refunds.ledger_entries;
create constraint trigger check_ledger_transaction after insert on refunds.ledger_entries
  deferrable initially deferred for each row when (new.credit_account is null) execute function refunds.check_ledger_transaction();
alter table refunds.ledger_entries
  drop constraint ledger_entries_ledger_account_check, drop constraint ledger_entries_amount_cents_check,
  drop constraint ledger_entries_kind_check;

-- Both sums by one query.
create or replace function refunds.check_refund_sum() returns trigger language plpgsql as $$
declare
  whole bigint;
  parts bigint;
begin
  select r.amount_cents, (
      select sum(i.amount_cents) from refunds.refund_items i
       where i.account_id = new.account_id and i.test_mode = new.test_mode and i.refund_id = new.refund_id)
    into whole, parts from refunds.refunds r
   where r.account_id = new.account_id and r.test_mode = new.test_mode and r.id = new.refund_id;
  if whole is distinct from parts then
    raise exception 'the parts of a refund sum to % and not to %', parts, whole
      using errcode = 'check_violation', constraint = 'refund_is_the_sum_of_its_parts';
  end if;
  return null;
end $$;

-- Room for the new version of a row in its page: what settles a refund changes no indexed column of these.
alter table refunds.refunds set (fillfactor = 70);
alter table refunds.refund_items set (fillfactor = 80);
alter table refunds.balance_transactions set (fillfactor = 80);
