-- Payment links: what a visit sells, and on which terms. Each visit opens a session of its own.
create table checkout.payment_links (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  active boolean not null,
  mode text collate "C" not null check (mode in ('payment', 'subscription')),
  -- The JSON form of eligo.checkout.v1.PaymentLinkTerms (its int64 are strings).
  terms jsonb not null constraint payment_link_has_lines check (jsonb_array_length(terms -> 'lines') between 1 and 100),
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id)
);
create index payment_links_by_active on checkout.payment_links (account_id, test_mode, active, id);
alter table checkout.payment_links enable row level security;
alter table checkout.payment_links force row level security;
create policy account_scope on checkout.payment_links using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean
);
-- A link sells what it sold when it was made: only these two columns change.
revoke update, delete on checkout.payment_links from :"role";
grant update (active, metadata) on checkout.payment_links to :"role";
