-- What an account said last of HSA and FSA cards in live mode, as the gateway told it. Null: it charges none. Charges of invoices are decided by it; those of
-- sessions by the context of their request.
create table checkout.health_card_statements (
  account_id text collate "C" not null,
  test_mode boolean not null constraint health_card_statements_of_live_mode check (not test_mode),
  substantiation text check (substantiation <> ''),
  version bigint not null check (version > 0),
  recorded_at timestamptz(3) not null default clock_timestamp(),
  primary key (account_id, test_mode)
);
alter table checkout.health_card_statements enable row level security;
alter table checkout.health_card_statements force row level security;
create policy own_rows on checkout.health_card_statements
  using (account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke delete, truncate on checkout.health_card_statements from :"role";

create function checkout.guard_health_card_statement() returns trigger language plpgsql as $$
begin
  if new.version <= old.version then
    raise exception 'statement % of account % is not newer than %', new.version, new.account_id, old.version
      using errcode = 'check_violation', constraint = 'health_card_statements_ascend';
  end if;
  return new;
end $$;
create trigger guard_health_card_statement before update on checkout.health_card_statements
  for each row execute function checkout.guard_health_card_statement();

-- No invoice is charged to a health card of an account that has withdrawn its statement. An account without a row is refused by the code alone, because the
-- gateway tells of all accounts only after this migration.
create function checkout.guard_health_card_charge() returns trigger language plpgsql as $$
begin
  if exists (
    select from checkout.health_card_statements s
    where s.account_id = new.account_id and s.test_mode = new.test_mode and s.substantiation is null
  ) then
    raise exception 'account % charges no health cards', new.account_id
      using errcode = 'check_violation', constraint = 'invoices_charge_enabled_health_cards';
  end if;
  return new;
end $$;
create trigger guard_health_card_charge before insert on checkout.charge_attempts
  for each row when (new.purpose = 'invoice' and new.leg = 'health' and not new.test_mode and new.card_kind is distinct from 'other')
  execute function checkout.guard_health_card_charge();
