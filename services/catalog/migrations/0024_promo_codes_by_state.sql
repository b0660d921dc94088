-- eligo: no-transaction
-- A page of a coupon's or a customer's codes of one state reads that page alone, however many codes of the other state there are.
create index concurrently if not exists promo_codes_by_coupon_state on catalog.promo_codes
  (account_id, test_mode, coupon_id, active, promo_code_id);
create index concurrently if not exists promo_codes_by_customer_state on catalog.promo_codes
  (account_id, test_mode, customer_id, active, promo_code_id) where customer_id is not null;
create index concurrently if not exists promo_codes_by_customer_coupon on catalog.promo_codes
  (account_id, test_mode, customer_id, coupon_id, active, promo_code_id) where customer_id is not null;
