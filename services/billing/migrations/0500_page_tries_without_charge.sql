-- How many of the failed tries were on the page of the invoice, without a card that could be charged: the partner's tries are counted without them.
alter table invoices add column page_tries_without_charge integer not null default 0;
alter table invoices add constraint page_tries_within_attempts check (page_tries_without_charge between 0 and attempts) not valid;
