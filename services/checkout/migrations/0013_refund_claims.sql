-- What a refund's id was used for, whichever came first: its reservation, or the word that there will be none. A reservation that was lost on
-- its way and comes after that is refused. Reservations from before this table are found by themselves.
create table checkout.refund_claims (
  account_id text collate "C" not null,
  test_mode boolean not null,
  refund_id text collate "C" not null,
  claim text not null check (claim in ('reserved', 'closed')),
  claimed_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode, refund_id)
);

alter table checkout.refund_claims enable row level security;
alter table checkout.refund_claims force row level security;
create policy own_rows on checkout.refund_claims
  using (account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = nullif(current_setting('eligo.test_mode', true), '')::boolean);
revoke update, delete on checkout.refund_claims from eligo_checkout;
