-- The ledger: one for all money of a partner, in double entry. It is posted from the journal entries of checkout and of this service, and from what the
-- processor reports of its balance. What is posted is never changed.

-- When an entry of this service is to be posted; null once it is. The rows of earlier releases are due at once.
alter table refunds.ledger_entries add column post_at timestamptz(3) default '2020-01-01 00:00:00+00';
alter table refunds.ledger_entries alter column post_at set default clock_timestamp();
grant update (post_at) on refunds.ledger_entries to :"role";

create table refunds.ledger_transactions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  kind text collate "C" not null check (kind in ('capture', 'refund_pending', 'refund_succeeded', 'refund_failed', 'refund_returned',
    'charge', 'refund', 'dispute', 'payout', 'application_fee', 'other')),
  processor refunds.processor not null,
  processor_account text collate "C" not null,
  -- The journal entry that it posts, or the movement on the processor's balance.
  entry_id text collate "C",
  processor_transaction_id text collate "C",
  amount_cents bigint not null,
  fee_cents bigint,
  net_cents bigint,
  -- Where the processor's own charge is known: by which a movement on the balance finds its capture.
  processor_charge_id text collate "C",
  balance_transaction_id text collate "C",
  -- Our record: a charge, capture, refund or dispute; null where none explains the movement.
  source_id text collate "C",
  payment_intent_id text collate "C",
  occurred_at timestamptz(3) not null,
  posted_at timestamptz(3) not null default clock_timestamp(),
  primary key (account_id, test_mode, id),
  constraint posted_from_one_cause check ((entry_id is null) <> (processor_transaction_id is null)),
  constraint movement_has_fee_and_net check ((processor_transaction_id is null) = (fee_cents is null) and (fee_cents is null) = (net_cents is null))
);
create unique index entry_is_posted_once on refunds.ledger_transactions (account_id, test_mode, entry_id) where entry_id is not null;
create unique index movement_is_posted_once on refunds.ledger_transactions (account_id, test_mode, processor, processor_account, processor_transaction_id)
  where processor_transaction_id is not null;
create index ledger_captures_of_a_charge on refunds.ledger_transactions (account_id, test_mode, processor_charge_id, id)
  where processor_charge_id is not null and entry_id is not null;

-- Debits are positive, credits negative.
create table refunds.ledger_postings (
  account_id text collate "C" not null,
  test_mode boolean not null,
  transaction_id text collate "C" not null,
  ledger_account text collate "C" not null check (ledger_account in ('receivable', 'processor_balance', 'charges', 'refunds', 'refunds_payable', 'fees',
    'application_fees', 'disputes', 'payouts', 'suspense')),
  amount_cents bigint not null check (amount_cents <> 0),
  primary key (account_id, test_mode, transaction_id, ledger_account),
  foreign key (account_id, test_mode, transaction_id) references refunds.ledger_transactions
);

-- At commit, so that the postings of a transaction may come one by one.
create function refunds.check_ledger_postings() returns trigger language plpgsql as $$
declare
  sum_cents bigint;
  balance_cents bigint;
  movement refunds.ledger_transactions;
begin
  select * into movement from refunds.ledger_transactions t
   where t.account_id = new.account_id and t.test_mode = new.test_mode
     and t.id = case tg_table_name when 'ledger_transactions' then to_jsonb(new) ->> 'id' else to_jsonb(new) ->> 'transaction_id' end;
  select coalesce(sum(p.amount_cents), 0), coalesce(sum(p.amount_cents) filter (where p.ledger_account = 'processor_balance'), 0)
    into sum_cents, balance_cents from refunds.ledger_postings p
   where p.account_id = movement.account_id and p.test_mode = movement.test_mode and p.transaction_id = movement.id;
  if sum_cents <> 0 then
    raise exception 'the postings of ledger transaction % sum to %', movement.id, sum_cents
      using errcode = 'check_violation', constraint = 'ledger_postings_sum_to_nothing';
  end if;
  if balance_cents <> coalesce(movement.net_cents, 0) then
    raise exception 'ledger transaction % moves % on the balance and not %', movement.id, balance_cents, coalesce(movement.net_cents, 0)
      using errcode = 'check_violation', constraint = 'ledger_moves_the_net';
  end if;
  return null;
end $$;
create constraint trigger check_ledger_postings after insert on refunds.ledger_postings
  deferrable initially deferred for each row execute function refunds.check_ledger_postings();
create constraint trigger check_ledger_transaction after insert on refunds.ledger_transactions
  deferrable initially deferred for each row execute function refunds.check_ledger_postings();

-- The movements on the processor's balance, as it lists them, each once.
create table refunds.processor_transactions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor refunds.processor not null,
  processor_account text collate "C" not null,
  id text collate "C" not null,
  type text collate "C" not null,
  reporting_category text collate "C" not null,
  amount_cents bigint not null,
  fee_cents bigint not null,
  application_fee_cents bigint not null,
  net_cents bigint not null,
  available_on timestamptz(3) not null,
  source_id text collate "C",
  -- The processor's time, to the second.
  created_at timestamptz(3) not null,
  -- Our time.
  read_at timestamptz(3) not null default clock_timestamp(),
  -- When its record is looked for and it is posted; null once it is.
  match_at timestamptz(3) default clock_timestamp(),
  primary key (account_id, test_mode, processor, processor_account, id)
);
create index processor_transactions_to_match on refunds.processor_transactions (match_at) where match_at is not null;
create index processor_transactions_to_match_of_account on refunds.processor_transactions (account_id, test_mode, match_at) where match_at is not null;

-- How far the list of each account at the processor has been read.
create table refunds.ledger_feeds (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor refunds.processor not null,
  processor_account text collate "C" not null,
  -- Our time of the oldest entry that is there.
  begins_at timestamptz(3) not null,
  -- The processor's time: all that was listed before it is stored.
  read_from timestamptz(3) not null,
  -- So much of its list is read at a time; less where there is too much in it.
  window_seconds integer not null default 86400 check (window_seconds > 0),
  -- When it is read next, or until when a process reads it.
  next_read_at timestamptz(3) not null,
  -- Reads that found nothing, or failed, since something was found or posted.
  quiet_reads integer not null default 0,
  primary key (account_id, test_mode, processor, processor_account)
);
create index ledger_feeds_due on refunds.ledger_feeds (next_read_at);

do $$
declare
  name text;
begin
  foreach name in array array['ledger_transactions', 'ledger_postings', 'processor_transactions', 'ledger_feeds'] loop
    execute format('alter table refunds.%I enable row level security', name);
    execute format('alter table refunds.%I force row level security', name);
    execute format(
      'create policy own_rows on refunds.%I using (account_id = nullif(current_setting(''eligo.account_id'', true), '''')'
      ' and test_mode = (nullif(current_setting(''eligo.test_mode'', true), ''''))::boolean)',
      name
    );
    execute format('revoke delete on refunds.%I from eligo_refunds', name);
  end loop;
end $$;
revoke update on refunds.ledger_transactions, refunds.ledger_postings, refunds.processor_transactions from eligo_refunds;
grant update (match_at) on refunds.processor_transactions to eligo_refunds;
create policy finder_reads on refunds.ledger_entries for select to eligo_finder using (true);
create policy finder_reads on refunds.processor_transactions for select to eligo_finder using (true);
create policy finder_reads on refunds.ledger_feeds for select to eligo_finder using (true);
grant select on refunds.ledger_entries, refunds.processor_transactions, refunds.ledger_feeds to eligo_finder;

-- A balance transaction gets its fee from the processor: shown once the processor's movements have settled all of its amount.
alter table refunds.balance_transactions
  add column processor refunds.processor,
  add column processor_account text collate "C",
  add column processor_transaction_id text collate "C",
  add column settled_cents bigint not null default 0;
grant update (fee_cents, processor, processor_account, processor_transaction_id, settled_cents) on refunds.balance_transactions to :"role";

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
        is distinct from (old.processor, old.processor_account, old.processor_transaction_id) then 'processor_transaction_is_final'
  end;
begin
  if broken is not null then
    raise exception 'balance transaction % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
