-- Refunds, the cards that they go back to, the attempts that ask the processor, and what they do to the balance.

create table refunds.refunds (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  -- requested and refused are never shown: the one is not yet taken out of what remains, the other never was.
  status text collate "C" not null check (status in (
    'requested', 'refused', 'pending', 'requires_action', 'succeeded', 'failed', 'canceled')),
  -- What was asked for: a session or a payment intent, and how much of it as the RefundInstruction message.
  subject_session_id text collate "C",
  subject_payment_intent_id text collate "C",
  instruction bytea not null,
  -- What the caller was allowed when it asked: the sweeper asks again on its behalf.
  features text[] not null default '{}',
  -- The operation id of a refund that another service decided.
  operation_id text collate "C",
  reason text,
  metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  -- Known once it is pending.
  amount_cents bigint check (amount_cents between 1 and 9007199254740991),
  -- The part of a split refund that failed while the rest went back.
  failed_cents bigint not null default 0,
  payment_intent_id text collate "C",
  checkout_session_id text collate "C",
  customer_id text collate "C",
  subscription_id text collate "C",
  invoice_id text collate "C",
  reference_id text,
  reference_type text,
  reference_status text,
  balance_transaction_id text collate "C",
  failure_balance_transaction_id text collate "C",
  refusal_code text collate "C",
  requested_at timestamptz(3) not null default now(),
  -- The acting customer's time.
  created_at timestamptz(3),
  epoch integer not null default 1,
  lease_until timestamptz(3),
  checks integer not null default 0,
  next_check_at timestamptz(3),
  version bigint not null default 1,
  primary key (account_id, test_mode, id),
  constraint one_subject check ((subject_session_id is null) <> (subject_payment_intent_id is null)),
  constraint whole_once_pending check (
    (status in ('requested', 'refused')) = (amount_cents is null)
    and (amount_cents is null) = (payment_intent_id is null)
    and (amount_cents is null) = (created_at is null)
    and (amount_cents is null) = (balance_transaction_id is null)
  ),
  constraint refused_for_a_reason check ((status = 'refused') = (refusal_code is not null)),
  constraint failed_within_amount check (failed_cents between 0 and coalesce(amount_cents, 0)),
  constraint only_requested_is_checked check (next_check_at is null or status = 'requested')
);
create unique index one_refund_for_each_operation on refunds.refunds (account_id, test_mode, operation_id)
  where operation_id is not null;
create index refunds_shown on refunds.refunds (account_id, test_mode, id) where status not in ('requested', 'refused');
create index refunds_by_intent on refunds.refunds (account_id, test_mode, payment_intent_id, id)
  where payment_intent_id is not null;
create index refunds_by_session on refunds.refunds (account_id, test_mode, checkout_session_id, id)
  where checkout_session_id is not null;
-- Not by status: a statement on one refund must not be able to choose these.
create index refunds_due on refunds.refunds (next_check_at) where next_check_at is not null;

-- One for each card.
create table refunds.refund_items (
  account_id text collate "C" not null,
  test_mode boolean not null,
  refund_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  position smallint not null check (position >= 0),
  payment_method_id text collate "C" not null,
  charge_id text collate "C" not null,
  processor_intent_id text not null,
  amount_cents bigint not null check (amount_cents > 0),
  -- releasing: the processor's no is known, and checkout is to be told.
  status text collate "C" not null check (status in (
    'pending', 'requires_action', 'succeeded', 'releasing', 'failed', 'canceled')),
  -- What a releasing item becomes.
  end_status text collate "C" check (end_status in ('failed', 'canceled')),
  -- Whether it had gone through before it failed.
  returned boolean not null default false,
  failure_code text,
  reference_id text,
  reference_type text,
  reference_status text,
  epoch integer not null default 1,
  lease_until timestamptz(3),
  checks integer not null default 0,
  next_check_at timestamptz(3),
  primary key (account_id, test_mode, refund_id, payment_intent_id),
  foreign key (account_id, test_mode, refund_id) references refunds.refunds (account_id, test_mode, id),
  constraint releasing_has_an_end check ((status in ('releasing', 'failed', 'canceled')) = (end_status is not null)),
  constraint only_releasing_is_checked check ((next_check_at is not null) = (status = 'releasing'))
);
create index refund_items_due on refunds.refund_items (next_check_at) where next_check_at is not null;

create table refunds.refund_attempts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  -- The processor's idempotency key, and in the metadata that it keeps.
  id text collate "C" not null,
  refund_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  processor_intent_id text not null,
  amount_cents bigint not null check (amount_cents > 0),
  -- accepted: the processor has the refund, whose own state may still move; ended: nothing moves any more.
  status text collate "C" not null check (status in ('created', 'sending', 'unknown', 'accepted', 'failed', 'ended')),
  epoch integer not null default 1,
  lease_until timestamptz(3) not null,
  sends integer not null default 0,
  first_sent_at timestamptz(3),
  sent_at timestamptz(3),
  checks integer not null default 0,
  next_check_at timestamptz(3) not null,
  processor_refund_id text,
  failure_code text,
  created_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, refund_id, payment_intent_id) references refunds.refund_items,
  constraint known_once_accepted check ((status in ('accepted', 'ended')) = (processor_refund_id is not null)),
  constraint sent_before_known check (status in ('created', 'failed') or first_sent_at is not null)
);
-- A second attempt may exist only after the first is known to have moved nothing.
create unique index one_live_attempt on refunds.refund_attempts (account_id, test_mode, refund_id, payment_intent_id)
  where status <> 'failed';
create unique index one_attempt_for_each_processor_refund on refunds.refund_attempts (account_id, test_mode, processor_refund_id)
  where processor_refund_id is not null;
create index refund_attempts_due on refunds.refund_attempts (next_check_at)
  where status in ('created', 'sending', 'unknown', 'accepted');

create table refunds.balance_transactions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  type text collate "C" not null check (type in ('refund', 'refund_failure')),
  amount_cents bigint not null check ((type = 'refund') = (amount_cents < 0) and amount_cents <> 0),
  fee_cents bigint not null default 0,
  net_cents bigint not null generated always as (amount_cents - fee_cents) stored,
  status text collate "C" not null check (status in ('pending', 'available')),
  available_on timestamptz(3) not null,
  source_id text collate "C" not null,
  checkout_session_id text collate "C",
  reporting_category text collate "C" not null,
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id)
);
create index balance_transactions_by_source on refunds.balance_transactions (account_id, test_mode, source_id);

-- Append-only. Debits are positive, credits negative, and each transaction's entries sum to nothing.
create table refunds.ledger_entries (
  account_id text collate "C" not null,
  test_mode boolean not null,
  transaction_id text collate "C" not null,
  ledger_account text collate "C" not null check (ledger_account in ('refunds', 'refunds_payable', 'processor_balance')),
  amount_cents bigint not null check (amount_cents <> 0),
  -- What caused it, once: a card's part of a refund becoming pending, going back, or failing.
  kind text collate "C" not null check (kind in ('refund_pending', 'refund_succeeded', 'refund_failed', 'refund_returned')),
  refund_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, transaction_id, ledger_account),
  constraint booked_once unique (account_id, test_mode, refund_id, payment_intent_id, kind, ledger_account)
);

do $$
declare
  name text;
begin
  foreach name in array array['refunds', 'refund_items', 'refund_attempts', 'balance_transactions', 'ledger_entries'] loop
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

revoke update on refunds.ledger_entries, refunds.balance_transactions, refunds.refund_items from eligo_refunds;
grant update (status, available_on) on refunds.balance_transactions to eligo_refunds;
grant update (status, end_status, returned, failure_code, reference_id, reference_type, reference_status, epoch, lease_until, checks, next_check_at)
  on refunds.refund_items to eligo_refunds;
