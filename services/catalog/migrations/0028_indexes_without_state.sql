-- eligo: contract
-- eligo: no-transaction
-- Each list reads by the indexes that have the state. A process of the release before sorts the codes of the coupon or customer that it lists,
-- and its finders are those of the database.
drop index concurrently if exists catalog.promo_codes_by_coupon;
drop index concurrently if exists catalog.promo_codes_by_customer;
drop index concurrently if exists catalog.prices_metadata_tokens;
drop index concurrently if exists catalog.products_metadata_tokens;
