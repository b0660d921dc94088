-- Who canceled a session: its shopper on the page, or the partner. A session that was canceled because of a letter or a hold has no row, and neither has one of an earlier
-- release.
create table checkout.session_cancellations (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  canceled_by text not null check (canceled_by in ('shopper', 'partner')),
  primary key (account_id, test_mode, session_id),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id)
);
alter table checkout.session_cancellations enable row level security;
alter table checkout.session_cancellations force row level security;
create policy own_rows on checkout.session_cancellations
  using (account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke update, delete, truncate on checkout.session_cancellations from :"role";

-- Cards that a session could not save, in the order of their numbers: the set-up intent goes on with the next card, and keeps nothing of the last one. A session has as many
-- as it takes declines.
create table checkout.set_up_failures (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  number bigint generated always as identity,
  setup_intent_id text collate "C" not null,
  failure_code text not null,
  decline_code text,
  failed_at timestamptz(3) not null,
  primary key (account_id, test_mode, session_id, number),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id),
  foreign key (account_id, test_mode, setup_intent_id) references checkout.setup_intents (account_id, test_mode, id)
);
alter table checkout.set_up_failures enable row level security;
alter table checkout.set_up_failures force row level security;
create policy own_rows on checkout.set_up_failures
  using (account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke update, delete, truncate on checkout.set_up_failures from :"role";
