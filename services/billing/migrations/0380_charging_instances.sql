-- The processes of billing that charge what is due: each writes its row anew while it charges. The pace of an account is shared among those that are live.
create table charging_instances (
  id text collate "C" primary key check (length(id) between 1 and 64),
  live_until timestamptz(3) not null
) with (fillfactor = 50);
