create table things (
  account_id text collate "C" not null,
  test_mode boolean not null,
  thing_id text collate "C" not null,
  amount bigint not null default 0,
  ratio numeric(8, 4),
  day date,
  sizes bigint[],
  created_at timestamptz(3) not null default now(),
  parent_id text collate "C",
  primary key (account_id, test_mode, thing_id),
  constraint things_parent foreign key (account_id, test_mode, parent_id)
    references things (account_id, test_mode, thing_id) deferrable initially deferred
);
alter table things enable row level security;
alter table things force row level security;
create policy scope on things to :"role"
  using (
    account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean
  );
