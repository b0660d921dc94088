-- These columns say whether a row has work. ANALYZE reads them when nearly no row has any, and the planner then finds a row by its key among all that have some. Without
-- statistics of theirs, it expects many (packages/postgres/src/expect-waiting-work.ts, ADR 3). Otherwise a step of a refund or a dispute can read all that wait.
alter table refunds.disputes alter column next_check_at set statistics 0;
alter table refunds.evidence_files alter column content_until set statistics 0;
alter table refunds.ledger_entries alter column post_at set statistics 0;
alter table refunds.payouts alter column next_look_at set statistics 0;
alter table refunds.processor_events alter column next_check_at set statistics 0, alter column settled_at set statistics 0;
alter table refunds.processor_transactions alter column match_at set statistics 0;
alter table refunds.refund_attempts alter column status set statistics 0, alter column next_check_at set statistics 0;
alter table refunds.refund_items alter column processor set statistics 0, alter column status set statistics 0, alter column next_check_at set statistics 0;
alter table refunds.refunds alter column status set statistics 0, alter column next_check_at set statistics 0;
