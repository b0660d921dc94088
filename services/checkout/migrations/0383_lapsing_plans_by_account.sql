-- eligo: no-transaction
create index concurrently if not exists payment_plans_lapsing_by_account on checkout.payment_plans (account_id, test_mode, release_at)
  where state = 'awaiting_second_card';
