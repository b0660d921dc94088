-- Why a hold ended that nobody captured or voided at the shop's word: it was about to lapse ('lapsed'), or it was gone at the processor ('lost').
create type checkout.hold_end as enum ('lapsed', 'lost');
alter table checkout.payment_intents add column hold_end checkout.hold_end;
