-- What an operator moves out of suspense, once it is known what a movement was: a ledger transaction of its own, dated when it is made. Nothing is edited.
alter table refunds.ledger_transactions drop constraint ledger_transactions_kind_check;
alter table refunds.ledger_transactions add constraint ledger_transactions_kind_check check (kind in ('capture', 'refund_pending',
  'refund_succeeded', 'refund_failed', 'refund_returned', 'charge', 'refund', 'dispute', 'payout', 'application_fee', 'other', 'suspense_move')) not valid;

create table refunds.suspense_moves (
  account_id text collate "C" not null,
  test_mode boolean not null,
  -- Also of the ledger transaction that posts it.
  id text collate "C" not null,
  moved_transaction_id text collate "C" not null,
  ledger_account text collate "C" not null check (ledger_account in ('receivable', 'charges', 'refunds', 'refunds_payable', 'fees', 'application_fees',
    'disputes', 'payouts')),
  amount_cents bigint not null check (amount_cents > 0),
  reason text not null check (length(btrim(reason)) between 1 and 500),
  moved_by text not null check (length(btrim(moved_by)) between 1 and 200),
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, moved_transaction_id) references refunds.ledger_transactions,
  foreign key (account_id, test_mode, id) references refunds.ledger_transactions deferrable initially deferred
);
create index suspense_moves_of_a_movement on refunds.suspense_moves (account_id, test_mode, moved_transaction_id);
create index suspense_moves_by_time on refunds.suspense_moves (account_id, test_mode, created_at, id);
alter table refunds.suspense_moves enable row level security;
alter table refunds.suspense_moves force row level security;
create policy own_rows on refunds.suspense_moves using (account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
-- Only an operator moves money out of suspense, by the command line.
revoke insert, update, delete, truncate on refunds.suspense_moves from :"role";

-- The lock makes the moves of one movement wait for each other.
create function refunds.guard_suspense_move() returns trigger language plpgsql as $$
declare
  suspense_cents bigint;
  moved_cents bigint;
begin
  if tg_op <> 'INSERT' then
    raise exception 'suspense move % is not changed; move the amount back with another one', old.id
      using errcode = 'check_violation', constraint = 'suspense_moves_are_final';
  end if;
  perform from refunds.ledger_transactions t
    where t.account_id = new.account_id and t.test_mode = new.test_mode and t.id = new.moved_transaction_id for no key update;
  select coalesce(sum(p.amount_cents), 0) into suspense_cents from refunds.ledger_postings p
    where p.account_id = new.account_id and p.test_mode = new.test_mode and p.transaction_id = new.moved_transaction_id and p.ledger_account = 'suspense';
  select coalesce(sum(m.amount_cents), 0) into moved_cents from refunds.suspense_moves m
    where m.account_id = new.account_id and m.test_mode = new.test_mode and m.moved_transaction_id = new.moved_transaction_id;
  if moved_cents + new.amount_cents > abs(suspense_cents) then
    raise exception 'ledger transaction % has % in suspense, of which % were moved', new.moved_transaction_id, suspense_cents, moved_cents
      using errcode = 'check_violation', constraint = 'moved_within_suspense';
  end if;
  return new;
end $$;
create trigger guard_suspense_move before insert or update or delete on refunds.suspense_moves
  for each row execute function refunds.guard_suspense_move();

-- At commit: the transaction takes from suspense what the move says, and puts it on the account that it names.
create function refunds.check_suspense_move() returns trigger language plpgsql as $$
declare
  direction bigint;
begin
  select - sign(p.amount_cents) into direction from refunds.ledger_postings p
    where p.account_id = new.account_id and p.test_mode = new.test_mode and p.transaction_id = new.moved_transaction_id and p.ledger_account = 'suspense';
  if (select coalesce(jsonb_object_agg(p.ledger_account, p.amount_cents), '{}') from refunds.ledger_postings p
        where p.account_id = new.account_id and p.test_mode = new.test_mode and p.transaction_id = new.id)
      <> jsonb_build_object('suspense', direction * new.amount_cents, new.ledger_account, - direction * new.amount_cents)
    or not exists (select from refunds.ledger_transactions t where t.account_id = new.account_id and t.test_mode = new.test_mode and t.id = new.id
        and t.kind = 'suspense_move' and t.entry_id = new.id and t.amount_cents = new.amount_cents) then
    raise exception 'suspense move % is posted as something else', new.id
      using errcode = 'check_violation', constraint = 'suspense_move_is_posted';
  end if;
  return null;
end $$;
create constraint trigger check_suspense_move after insert on refunds.suspense_moves
  deferrable initially deferred for each row execute function refunds.check_suspense_move();
