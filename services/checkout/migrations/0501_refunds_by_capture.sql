-- Which capture a refund draws from, for processors that refund by capture. What a capture took of a card is its operation that was done.
alter table checkout.intent_operations add column refunded_cents bigint not null default 0;
alter table checkout.intent_operations add constraint refunded_within_capture
  check (refunded_cents >= 0 and refunded_cents <= amount_cents and (refunded_cents = 0 or (kind = 'capture' and status = 'done'))) not valid;

create table checkout.refund_reservation_captures (
  account_id text collate "C" not null,
  test_mode boolean not null,
  refund_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  capture_id text collate "C" not null,
  amount_cents bigint not null check (amount_cents > 0),
  primary key (account_id, test_mode, refund_id, payment_intent_id, capture_id),
  foreign key (account_id, test_mode, refund_id, payment_intent_id) references checkout.refund_reservation_parts,
  foreign key (account_id, test_mode, capture_id) references checkout.captures
);
alter table checkout.refund_reservation_captures enable row level security;
alter table checkout.refund_reservation_captures force row level security;
create policy own_rows on checkout.refund_reservation_captures
  using (account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = nullif(current_setting('eligo.test_mode', true), '')::boolean);
grant select, insert on checkout.refund_reservation_captures to :"role";
revoke update, delete, truncate on checkout.refund_reservation_captures from :"role";

-- A card's part of a refund draws no more from captures than it is. It may be less: the release before this one refunds without naming captures.
create or replace function checkout.check_refund_sums() returns trigger language plpgsql as $$
declare
  cards bigint;
  lines bigint;
  beyond text;
begin
  select (select coalesce(sum(p.amount_cents), 0) from checkout.refund_reservation_parts p
           where p.account_id = new.account_id and p.test_mode = new.test_mode and p.refund_id = new.refund_id),
         (select coalesce(sum(l.amount_cents), 0) from checkout.refund_reservation_lines l
           where l.account_id = new.account_id and l.test_mode = new.test_mode and l.refund_id = new.refund_id),
         (select p.payment_intent_id from checkout.refund_reservation_parts p
           where p.account_id = new.account_id and p.test_mode = new.test_mode and p.refund_id = new.refund_id
             and p.amount_cents < (select sum(c.amount_cents) from checkout.refund_reservation_captures c
               where c.account_id = new.account_id and c.test_mode = new.test_mode and c.refund_id = new.refund_id
                 and c.payment_intent_id = p.payment_intent_id) limit 1)
    into cards, lines, beyond;
  if cards <> new.amount_cents then
    raise exception 'the cards of a refund sum to % and not to %', cards, new.amount_cents
      using errcode = 'check_violation', constraint = 'refund_is_the_sum_of_its_cards';
  end if;
  if lines <> new.amount_cents then
    raise exception 'the lines of a refund sum to % and not to %', lines, new.amount_cents
      using errcode = 'check_violation', constraint = 'refund_is_the_sum_of_its_lines';
  end if;
  if beyond is not null then
    raise exception 'the captures of a refund sum to more than its part of card %', beyond
      using errcode = 'check_violation', constraint = 'refund_part_covers_its_captures';
  end if;
  return null;
end $$;
