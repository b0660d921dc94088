-- seq: the order in which prorations were made. The transactions that make those of one subscription hold its row, one after the other. The ids do not say it: they begin with the wall
-- clock of the process that made them. What is there already has none and is older. A process of the release before gets the default.
create sequence proration_seq;
alter table prorations add column seq bigint;
alter table prorations alter column seq set default nextval('proration_seq');
alter sequence proration_seq owned by prorations.seq;
