-- Cards that shoppers gave on the page of a session, by the processor's identifier. A request that is sent twice finds the card again, and the page of
-- another session cannot use it.
create table checkout.page_cards (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor_payment_method_id text collate "C" not null check (length(processor_payment_method_id) between 4 and 255),
  session_id text collate "C" not null,
  payment_method_id text collate "C" not null,
  primary key (account_id, test_mode, processor_payment_method_id),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id),
  -- The row is written first: of two requests with one card, the second waits for it.
  foreign key (account_id, test_mode, payment_method_id) references checkout.payment_methods (account_id, test_mode, id)
    deferrable initially deferred
);
alter table checkout.page_cards enable row level security;
alter table checkout.page_cards force row level security;
create policy own_rows on checkout.page_cards
  using (account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
-- Never changed or deleted: a card stays the card of its session.
revoke update, delete, truncate on checkout.page_cards from :"role";
