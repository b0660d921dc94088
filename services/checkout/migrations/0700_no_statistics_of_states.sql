-- These columns say whether a row has work. ANALYZE reads them when nearly no row has any, and the planner then finds a row by its key among all that have some. Without
-- statistics of theirs, it expects many (packages/postgres/src/expect-waiting-work.ts, ADR 3). Otherwise a step of a payment can read all charge attempts, plans or holds
-- of the account that are under way.
alter table checkout.captures alter column status set statistics 0;
alter table checkout.charge_attempts alter column processor set statistics 0, alter column status set statistics 0, alter column next_check_at set statistics 0;
alter table checkout.intent_operations alter column status set statistics 0, alter column next_check_at set statistics 0;
alter table checkout.ledger_entries alter column tell_at set statistics 0;
alter table checkout.letters alter column status set statistics 0;
alter table checkout.payment_intents alter column processor set statistics 0, alter column status set statistics 0, alter column hold_check_at set statistics 0, alter column captured_elsewhere_cents set statistics 0;
alter table checkout.payment_methods alter column processor set statistics 0;
alter table checkout.payment_plans alter column state set statistics 0, alter column next_check_at set statistics 0, alter column release_at set statistics 0;
alter table checkout.sessions alter column status set statistics 0;
alter table checkout.setup_intents alter column processor set statistics 0;
alter table checkout.subscription_set_ups alter column status set statistics 0, alter column next_check_at set statistics 0;
alter table checkout.test_clocks alter column unsettled set statistics 0;
