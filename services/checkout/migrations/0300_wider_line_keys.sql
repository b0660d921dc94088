-- eligo: no-transaction
-- A line can be paid with two cards: what a capture and a refund take of a line is a row for each card. The next migration makes these the primary keys.
create unique index concurrently if not exists capture_lines_by_card
  on checkout.capture_lines (account_id, test_mode, capture_id, line_id, payment_intent_id);
create unique index concurrently if not exists refund_reservation_lines_by_card
  on checkout.refund_reservation_lines (account_id, test_mode, refund_id, line_id, payment_intent_id);
