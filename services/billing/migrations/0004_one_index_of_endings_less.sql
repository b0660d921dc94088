-- eligo: contract
-- Nothing reads it any more: each kind of clock has its own.
drop index subscriptions_ending;
