-- What disputes hold of the money that was received, as refunds tells it. A dispute is recorded even where a refund has given the same money back.
create table checkout.disputes (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  charge_id text collate "C" not null,
  session_id text collate "C",
  amount_cents bigint not null check (amount_cents >= 0),
  -- The amount while the dispute is open or lost; 0 of an inquiry and of a dispute that was won.
  held_cents bigint not null check (held_cents between 0 and amount_cents),
  -- Which look at the processor said so: a later one is not overwritten by an earlier one.
  seq bigint not null check (seq > 0),
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, payment_intent_id) references checkout.payment_intents
);
alter table checkout.disputes enable row level security;
alter table checkout.disputes force row level security;
create policy own_rows on checkout.disputes for all
  using (account_id = nullif(current_setting('eligo.account_id', true), '') and test_mode = nullif(current_setting('eligo.test_mode', true), '')::boolean);
revoke delete on checkout.disputes from eligo_checkout;
create index disputes_by_intent on checkout.disputes (account_id, test_mode, payment_intent_id);
create index disputes_by_session on checkout.disputes (account_id, test_mode, session_id) where session_id is not null;

alter table checkout.payment_intents add column amount_disputed_cents bigint not null default 0;

-- A new refund may not give back what an open or lost dispute holds. A dispute may come to hold what was refunded before.
create function checkout.refuse_disputed_refund() returns trigger language plpgsql as $$
begin
  raise exception '% would refund what a dispute holds: % of %, with % disputed',
    new.id, new.amount_refunded_cents, new.amount_received_cents, new.amount_disputed_cents
    using errcode = 'check_violation', constraint = 'refunded_within_undisputed';
end $$;
create trigger refuse_disputed_refund before update on checkout.sessions for each row
  when (new.amount_refunded_cents > old.amount_refunded_cents
    and new.amount_refunded_cents + new.amount_disputed_cents > new.amount_received_cents)
  execute function checkout.refuse_disputed_refund();
create trigger refuse_disputed_refund before update on checkout.payment_intents for each row
  when (new.amount_refunded_cents > old.amount_refunded_cents
    and new.amount_refunded_cents + new.amount_disputed_cents > new.amount_received_cents)
  execute function checkout.refuse_disputed_refund();
