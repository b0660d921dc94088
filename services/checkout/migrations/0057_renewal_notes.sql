-- Up to which event of its subscription a session's renewal_as_of is told: events arrive again, and after later ones.
create table checkout.renewal_notes (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  subscription_id text collate "C" not null,
  -- The number of the subscription's event, which only grows.
  subscription_seq bigint not null check (subscription_seq > 0),
  primary key (account_id, test_mode, session_id),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id)
);
alter table checkout.renewal_notes enable row level security;
alter table checkout.renewal_notes force row level security;
create policy account_scope on checkout.renewal_notes using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean
);
revoke delete on checkout.renewal_notes from :"role";

create function checkout.check_renewal_note() returns trigger language plpgsql as $$
begin
  if new.subscription_id <> old.subscription_id or new.subscription_seq <= old.subscription_seq then
    raise exception 'a renewal is told by an event after the last one of its subscription'
      using errcode = 'check_violation', constraint = 'renewals_are_told_in_order';
  end if;
  return new;
end $$;
create trigger check_renewal_note before update on checkout.renewal_notes
  for each row execute function checkout.check_renewal_note();
