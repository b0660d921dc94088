create table things (account_id text not null, test_mode boolean not null, thing_id text not null, primary key (account_id, test_mode, thing_id));
