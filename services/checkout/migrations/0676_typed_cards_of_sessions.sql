-- How many cards were typed on the page of a session and not charged at once. Each is a request to the processor, and a row of its own. `domain/typed-cards.ts` has the
-- same limit.
alter table checkout.sessions
  add column typed_cards smallint not null default 0,
  add constraint typed_cards_are_bounded check (typed_cards between 0 and 60) not valid;

create function checkout.refuse_fewer_typed_cards() returns trigger language plpgsql as $$
begin
  raise exception 'the count of typed cards of session % only grows', old.id using errcode = 'check_violation', constraint = 'typed_cards_grow';
end $$;
create trigger refuse_fewer_typed_cards before update of typed_cards on checkout.sessions
  for each row when (new.typed_cards < old.typed_cards) execute function checkout.refuse_fewer_typed_cards();
