-- eligo: no-transaction
create index concurrently if not exists payment_plans_unsettled_by_account on checkout.payment_plans (account_id, test_mode, next_check_at)
  where state in ('running', 'releasing');
