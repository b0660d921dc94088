-- What was paid on an invoice is the sum of its charges that succeeded. What a session paid is written with its invoice, which has no charges, and never changes.
-- Checked at commit: a charge and its invoice are two statements. A file for each table, so that none waits for a lock with another one held.
create function check_invoice_paid(account text, mode boolean, invoice text) returns void
  language plpgsql set search_path = billing, pg_temp as $$
begin
  if (select i.amount_paid_cents from invoices i where i.account_id = account and i.test_mode = mode and i.id = invoice and i.checkout_session_id is null)
       is distinct from (select coalesce(sum(c.amount_cents), 0) from invoice_charges c
                          where c.account_id = account and c.test_mode = mode and c.invoice_id = invoice and c.status = 'succeeded') then
    raise exception 'an invoice is paid by its charges' using errcode = 'check_violation', constraint = 'invoice_is_paid_by_its_charges';
  end if;
end $$;

create function check_paid_invoice() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  perform check_invoice_paid(new.account_id, new.test_mode, new.id);
  return null;
end $$;
create constraint trigger check_new_paid_invoice after insert on invoices deferrable initially deferred for each row
  when (new.amount_paid_cents > 0 and new.checkout_session_id is null) execute function check_paid_invoice();
create constraint trigger check_paid_invoice after update on invoices deferrable initially deferred for each row
  when (new.amount_paid_cents <> old.amount_paid_cents) execute function check_paid_invoice();
