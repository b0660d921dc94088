-- eligo: no-transaction
create index concurrently if not exists invoice_charges_pending_by_card on billing.invoice_charges (account_id, test_mode, payment_method_id)
  where status = 'pending';
