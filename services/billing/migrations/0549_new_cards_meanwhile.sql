-- Whether another card was given while a charge was under way, and was refused until its outcome is known. The subscription does not end with that charge, so that the
-- card can be given again.
alter table invoice_charges add column awaits_new_card boolean not null default false;

-- A charge that is under way takes a note of either kind, and nothing else.
create or replace function guard_invoice_charge() returns trigger language plpgsql set search_path = billing, pg_temp as $$
declare
  invoice record;
  taken numeric;
begin
  if tg_op = 'UPDATE' then
    if old.status <> 'pending'
       or (new.status = 'pending'
           and (new.card_updated, new.awaits_new_card) is not distinct from (old.card_updated, old.awaits_new_card))
       or (old.card_updated and not new.card_updated) or (old.awaits_new_card and not new.awaits_new_card) then
      raise exception 'a charge does not move from % to %', old.status, new.status
        using errcode = 'check_violation', constraint = 'invoice_charge_state_table';
    end if;
    if (new.invoice_id, new.leg, new.amount_cents, new.payment_method_id, new.acting_at)
         is distinct from (old.invoice_id, old.leg, old.amount_cents, old.payment_method_id, old.acting_at) then
      raise exception 'a charge is what was asked for' using errcode = 'check_violation', constraint = 'invoice_charge_is_final';
    end if;
    return new;
  end if;
  select total_cents, eligible_cents into invoice from invoices
   where account_id = new.account_id and test_mode = new.test_mode and id = new.invoice_id for update;
  select coalesce(sum(amount_cents), 0) into taken from invoice_charges
   where account_id = new.account_id and test_mode = new.test_mode and invoice_id = new.invoice_id and status in ('pending', 'succeeded');
  if taken + new.amount_cents > invoice.total_cents then
    raise exception 'the charges of an invoice do not exceed its total' using errcode = 'check_violation', constraint = 'charges_within_invoice';
  end if;
  if new.leg = 'health' and new.amount_cents > invoice.eligible_cents then
    raise exception 'a health card pays what is eligible' using errcode = 'check_violation', constraint = 'health_charge_within_eligible';
  end if;
  return new;
end $$;
