-- eligo: no-transaction
create index concurrently if not exists coupons_pending on coupons (created_at) where pending and inline;
create index concurrently if not exists inline_coupons_by_coupon on inline_coupons (account_id, test_mode, coupon_id);
