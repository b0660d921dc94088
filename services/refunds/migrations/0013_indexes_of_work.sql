-- eligo: no-transaction
-- Attempts without a known outcome, and accepted ones, each by the time of their next check: almost all are accepted, and a count of the others read them all.
create index concurrently if not exists refund_attempts_unsettled on refunds.refund_attempts (next_check_at)
  where status in ('created', 'sending', 'unknown');
create index concurrently if not exists refund_attempts_accepted on refunds.refund_attempts (next_check_at) where status = 'accepted';
-- The refunds of a card's payment, in the order of the list. A refund of two cards is in the list of both, so the index of the refund's own column was no use.
create index concurrently if not exists refund_items_by_intent on refunds.refund_items (account_id, test_mode, payment_intent_id, refund_id);
drop index concurrently if exists refunds.refunds_by_intent;
