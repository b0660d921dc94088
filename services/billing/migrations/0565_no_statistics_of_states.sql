-- These columns say whether a row has work. ANALYZE reads them when nearly no row has any, and the planner then finds a row by its key among all that have some. Without
-- statistics of theirs, it expects many (packages/postgres/src/expect-waiting-work.ts, ADR 3). Otherwise each try of a mail can read all mails that wait.
alter table billing.receipt_mails alter column status set statistics 0, alter column next_try_at set statistics 0;
alter table billing.notice_mails alter column status set statistics 0, alter column next_try_at set statistics 0;
alter table billing.subscription_mails alter column status set statistics 0, alter column next_try_at set statistics 0;
alter table billing.subscriptions alter column status set statistics 0, alter column work_at set statistics 0, alter column due_at set statistics 0, alter column held_until set statistics 0;
alter table billing.invoices alter column status set statistics 0;
alter table billing.invoice_charges alter column status set statistics 0;
alter table billing.prorations alter column left_cents set statistics 0;
alter table billing.test_clocks alter column status set statistics 0;
