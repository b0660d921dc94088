-- Whether a proration is of an item that stays and whose share of a fixed discount moved. A process of the release before writes false, and its documents call such a line
-- unused time, as they did.
alter table prorations add column is_share boolean not null default false;
