-- The latest invoice of a subscription is one of its own: what it owes, and what a cancellation refunds, is read from there. A trigger and no foreign key: no invoice is
-- deleted, and none moves to another subscription (`invoice_is_final`), so the invoice needs no lock, nor an index of its own.
create function check_latest_invoice() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  if not exists (select from invoices i where i.account_id = new.account_id and i.test_mode = new.test_mode and i.id = new.latest_invoice_id
                    and i.subscription_id = new.id) then
    raise exception 'the latest invoice of a subscription is its own' using errcode = 'check_violation', constraint = 'latest_invoice_is_its_own';
  end if;
  return null;
end $$;
create constraint trigger check_first_invoice after insert on subscriptions deferrable initially deferred for each row
  when (new.latest_invoice_id is not null) execute function check_latest_invoice();
create constraint trigger check_latest_invoice after update on subscriptions deferrable initially deferred for each row
  when (new.latest_invoice_id is not null and new.latest_invoice_id is distinct from old.latest_invoice_id) execute function check_latest_invoice();
