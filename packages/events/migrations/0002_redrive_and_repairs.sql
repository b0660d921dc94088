-- A dead letter that an operator wants dealt with again: the service's own consumer does it, since nobody else has its handler.
alter table dead_letters
  add column redrive_at timestamptz(3),
  add column redrives integer not null default 0;

-- What the relay found its stream to have lost, and published again: for whoever asks afterwards what a restored NATS has cost.
create table outbox_repairs (
  found_at timestamptz(3) not null default clock_timestamp(),
  stream text collate "C" not null,
  -- The sign that it was known by.
  how text not null,
  -- The last place of the stream that was taken for kept; -1 when nothing was.
  kept_seq bigint not null,
  consumers integer not null,
  events bigint not null,
  primary key (found_at, stream)
);
revoke update, delete on outbox_repairs from :"role";
