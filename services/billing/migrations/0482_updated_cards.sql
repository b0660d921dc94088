-- When its bank last updated a card: what refused the old one for good does not concern the new one.
create table updated_cards (
  account_id text collate "C" not null,
  test_mode boolean not null,
  payment_method_id text collate "C" not null,
  updated_at timestamptz(3) not null,
  primary key (account_id, test_mode, payment_method_id)
);
alter table updated_cards enable row level security;
alter table updated_cards force row level security;
create policy account_scope on updated_cards using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);

alter table invoices
  -- The cards of its subscription that their banks updated while a charge of it was under way, and that it was not charged on since.
  add column updated_payment_method_ids text[] not null default '{}',
  -- The schedule waits only for a card that was named or typed.
  add constraint scheduled_behind_another_card check (scheduled_payment_at is null or pay_with_payment_method_id is not null) not valid;

-- A process of the release before this one clears the card alone.
create function clear_scheduled_payment() returns trigger language plpgsql as $$
begin
  new.scheduled_payment_at := null;
  return new;
end $$;
create trigger clear_scheduled_payment before update of pay_with_payment_method_id on invoices for each row
  when (new.pay_with_payment_method_id is null and old.pay_with_payment_method_id is not null) execute function clear_scheduled_payment();
