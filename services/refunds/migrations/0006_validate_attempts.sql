alter table refunds.refund_attempts validate constraint asks_for_its_item;
