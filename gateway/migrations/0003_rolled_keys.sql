-- A key has one successor. Rolled again it would hand on the end of its own overlap, and the second successor would die with it.
alter table gateway.api_keys add column rolled_at timestamptz(3);
