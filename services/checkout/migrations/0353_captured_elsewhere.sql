-- What somebody captured of a hold at the processor, in cents, while Eligo neither captures nor voids it. Null: the hold is as Eligo has it.
alter table checkout.payment_intents add column captured_elsewhere_cents bigint;
