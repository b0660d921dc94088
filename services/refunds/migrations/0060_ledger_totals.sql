-- The sums that the reconciliation report reads, so that it never sums the postings of earlier days. Triggers keep them, in the transaction that posts.

-- What the postings of a day, and of a month, add to an account of the ledger. Days and months are UTC.
create table refunds.ledger_totals (
  account_id text collate "C" not null,
  test_mode boolean not null,
  grain text collate "C" not null check (grain in ('day', 'month')),
  begins_on date not null,
  processor refunds.processor not null,
  processor_account text collate "C" not null,
  ledger_account text collate "C" not null,
  amount_cents bigint not null,
  primary key (account_id, test_mode, grain, begins_on, processor, processor_account, ledger_account),
  constraint month_begins_on_its_first_day check (grain = 'day' or extract(day from begins_on) = 1)
);

-- The transactions of a day: movements on the processor's balance by the processor's type and category, and journal entries by their kind.
create table refunds.ledger_activity (
  account_id text collate "C" not null,
  test_mode boolean not null,
  day date not null,
  processor refunds.processor not null,
  processor_account text collate "C" not null,
  cause text collate "C" not null check (cause in ('journal', 'balance')),
  type text collate "C" not null,
  reporting_category text collate "C" not null,
  transactions bigint not null,
  amount_cents bigint not null,
  fee_cents bigint not null,
  net_cents bigint not null,
  primary key (account_id, test_mode, day, processor, processor_account, cause, type, reporting_category)
);

-- Rows are locked in the order of their key, so that two transactions that post at once wait for each other and do not deadlock.
create function refunds.add_ledger_totals() returns trigger language plpgsql as $$
begin
  insert into refunds.ledger_totals as k (account_id, test_mode, grain, begins_on, processor, processor_account, ledger_account, amount_cents)
  select t.account_id, t.test_mode, g.grain, g.begins_on, t.processor, t.processor_account, n.ledger_account, sum(n.amount_cents)
    from added n
    join refunds.ledger_transactions t on t.account_id = n.account_id and t.test_mode = n.test_mode and t.id = n.transaction_id
    cross join lateral (values
      ('day', (t.occurred_at at time zone 'UTC')::date), ('month', date_trunc('month', t.occurred_at at time zone 'UTC')::date)) g (grain, begins_on)
   group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2, 3, 4, 5, 6, 7
  on conflict (account_id, test_mode, grain, begins_on, processor, processor_account, ledger_account) do update
    set amount_cents = k.amount_cents + excluded.amount_cents;
  return null;
end $$;

create function refunds.add_ledger_activity() returns trigger language plpgsql as $$
begin
  insert into refunds.ledger_activity as k (account_id, test_mode, day, processor, processor_account, cause, type, reporting_category, transactions,
    amount_cents, fee_cents, net_cents)
  select n.account_id, n.test_mode, (n.occurred_at at time zone 'UTC')::date, n.processor, n.processor_account,
         case when n.processor_transaction_id is null then 'journal' else 'balance' end, coalesce(m.type, n.kind), coalesce(m.reporting_category, ''),
         count(*), sum(n.amount_cents), coalesce(sum(n.fee_cents), 0), coalesce(sum(n.net_cents), 0)
    from added n
    left join refunds.processor_transactions m on m.account_id = n.account_id and m.test_mode = n.test_mode and m.processor = n.processor
     and m.processor_account = n.processor_account and m.id = n.processor_transaction_id
   group by 1, 2, 3, 4, 5, 6, 7, 8 order by 1, 2, 3, 4, 5, 6, 7, 8
  on conflict (account_id, test_mode, day, processor, processor_account, cause, type, reporting_category) do update
    set transactions = k.transactions + excluded.transactions, amount_cents = k.amount_cents + excluded.amount_cents,
        fee_cents = k.fee_cents + excluded.fee_cents, net_cents = k.net_cents + excluded.net_cents;
  return null;
end $$;

-- From here to the end of this file, nothing is posted: the sums of what is there are complete. The owner reads all accounts for them.
create trigger add_ledger_totals after insert on refunds.ledger_postings
  referencing new table as added for each statement execute function refunds.add_ledger_totals();
create trigger add_ledger_activity after insert on refunds.ledger_transactions
  referencing new table as added for each statement execute function refunds.add_ledger_activity();
alter table refunds.ledger_postings no force row level security;
alter table refunds.ledger_transactions no force row level security;
alter table refunds.processor_transactions no force row level security;
insert into refunds.ledger_totals (account_id, test_mode, grain, begins_on, processor, processor_account, ledger_account, amount_cents)
select t.account_id, t.test_mode, g.grain, g.begins_on, t.processor, t.processor_account, p.ledger_account, sum(p.amount_cents)
  from refunds.ledger_postings p
  join refunds.ledger_transactions t on t.account_id = p.account_id and t.test_mode = p.test_mode and t.id = p.transaction_id
  cross join lateral (values
    ('day', (t.occurred_at at time zone 'UTC')::date), ('month', date_trunc('month', t.occurred_at at time zone 'UTC')::date)) g (grain, begins_on)
 group by 1, 2, 3, 4, 5, 6, 7;
insert into refunds.ledger_activity (account_id, test_mode, day, processor, processor_account, cause, type, reporting_category, transactions,
  amount_cents, fee_cents, net_cents)
select t.account_id, t.test_mode, (t.occurred_at at time zone 'UTC')::date, t.processor, t.processor_account,
       case when t.processor_transaction_id is null then 'journal' else 'balance' end, coalesce(m.type, t.kind), coalesce(m.reporting_category, ''),
       count(*), sum(t.amount_cents), coalesce(sum(t.fee_cents), 0), coalesce(sum(t.net_cents), 0)
  from refunds.ledger_transactions t
  left join refunds.processor_transactions m on m.account_id = t.account_id and m.test_mode = t.test_mode and m.processor = t.processor
   and m.processor_account = t.processor_account and m.id = t.processor_transaction_id
 group by 1, 2, 3, 4, 5, 6, 7, 8;
alter table refunds.ledger_postings force row level security;
alter table refunds.ledger_transactions force row level security;
alter table refunds.processor_transactions force row level security;

alter table refunds.ledger_totals enable row level security;
alter table refunds.ledger_totals force row level security;
create policy own_rows on refunds.ledger_totals using (account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
alter table refunds.ledger_activity enable row level security;
alter table refunds.ledger_activity force row level security;
create policy own_rows on refunds.ledger_activity using (account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke update, delete on refunds.ledger_totals, refunds.ledger_activity from :"role";
grant update (amount_cents) on refunds.ledger_totals to :"role";
grant update (transactions, amount_cents, fee_cents, net_cents) on refunds.ledger_activity to :"role";
