alter table inline_lines validate constraint inline_lines_price;
alter table inline_coupons validate constraint inline_coupons_coupon;
