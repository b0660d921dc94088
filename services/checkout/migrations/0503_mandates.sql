-- What charges of a saved card without its owner refer to, where the processor gave it when the card was saved: the record of the owner's consent, and the
-- network's name of the owner's own charge. The first is sent with such charges.
alter table checkout.payment_methods add column mandate_id text, add column network_transaction_id text;
