-- Payment intents of customers whom the operator erased. A dispute of one keeps no evidence here: the processor fills in a name and addresses by itself, and
-- every look at a dispute would store them again.
create table refunds.erased_intents (
  account_id text collate "C" not null,
  test_mode boolean not null,
  payment_intent_id text collate "C" not null,
  erased_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode, payment_intent_id)
);
alter table refunds.erased_intents enable row level security;
alter table refunds.erased_intents force row level security;
create policy own_rows on refunds.erased_intents using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
-- Only the operator's command erases.
revoke insert, update, delete, truncate on refunds.erased_intents from eligo_refunds;

-- Also for a process of the release before, which stores what it reads. The lock makes a look and an erasure of one intent wait for each other: a look ends
-- before the intent is marked, and its dispute is erased then, or it finds the mark.
create function refunds.drop_erased_evidence() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(
    hashtextextended('refunds.evidence:' || new.account_id || ':' || new.test_mode || ':' || new.payment_intent_id, 0));
  if exists (select from refunds.erased_intents e where e.account_id = new.account_id and e.test_mode = new.test_mode
               and e.payment_intent_id = new.payment_intent_id) then
    new.evidence := '{}';
  end if;
  return new;
end $$;
create trigger drop_erased_evidence before insert or update on refunds.disputes for each row
  when (new.evidence <> '{}' and new.payment_intent_id is not null) execute function refunds.drop_erased_evidence();
