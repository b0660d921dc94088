-- Until when a card's issuer holds what the card was authorized for, as the processor's charge says. Null: nothing is held, or it is not known yet.
alter table checkout.payment_intents add column capture_before timestamptz(3);
-- When the job `follow-holds` looks at a hold next. A hold of the release before this one is looked at at once.
alter table checkout.payment_intents add column hold_check_at timestamptz(3) not null default '1970-01-01T00:00:00Z';

-- Only what is captured later is held. A trigger that other writes to the table do not call (ADR 15).
create function checkout.refuse_capture_before() returns trigger language plpgsql as $$
begin
  raise exception 'payment intent % holds nothing', new.id using errcode = 'check_violation', constraint = 'capture_before_of_a_hold';
end $$;
create trigger refuse_capture_before before update of capture_before on checkout.payment_intents for each row
  when (new.capture_before is not null and new.capture_method <> 'manual') execute function checkout.refuse_capture_before();
