-- A day is noted, too, when what the processor lists of it is not what is stored: the next comparison reads it again, and goes on behind it all the same.
-- The release before this one notes only days that agree.
alter table refunds.checked_days add column differs boolean not null default false;
