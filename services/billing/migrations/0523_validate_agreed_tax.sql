alter table subscription_items validate constraint agreed_tax;
