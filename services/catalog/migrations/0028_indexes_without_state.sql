-- eligo: contract
-- eligo: no-transaction
-- Each list reads by the indexes that have the state. A process of the release before sorts the codes of the coupon or customer that it lists.
drop index concurrently if exists catalog.promo_codes_by_coupon;
drop index concurrently if exists catalog.promo_codes_by_customer;
