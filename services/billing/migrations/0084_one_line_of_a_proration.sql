-- eligo: no-transaction
-- Each charge for a change within a period is on one invoice.
create unique index concurrently if not exists invoice_lines_one_of_a_proration on invoice_lines (account_id, test_mode, proration_id)
  where proration_id is not null;
