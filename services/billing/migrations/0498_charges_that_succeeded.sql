-- A charge that succeeds is paid on its invoice in the same transaction.
create function check_succeeded_charge() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  perform check_invoice_paid(new.account_id, new.test_mode, new.invoice_id);
  return null;
end $$;
create constraint trigger check_succeeded_charge after insert or update on invoice_charges deferrable initially deferred for each row
  when (new.status = 'succeeded') execute function check_succeeded_charge();
