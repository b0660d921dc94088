-- Pages keep room for the new versions of their rows, so that an update of columns without an index writes no index entries (HOT). On full
-- pages half of the updates by a payment or a refund wrote an entry into each index of the table.
alter table checkout.sessions set (fillfactor = 80);
alter table checkout.session_lines set (fillfactor = 80);
alter table checkout.eligibility_records set (fillfactor = 80);
alter table checkout.payment_intents set (fillfactor = 80);
alter table checkout.charges set (fillfactor = 80);
