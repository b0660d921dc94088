alter table coupons validate constraint coupons_pending_is_unused;
