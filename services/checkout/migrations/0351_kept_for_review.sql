-- The shopper agreed that the card may be authorized again for this payment while a letter is in review: the processor was told with the intent.
alter table checkout.payment_intents add column keeps_card boolean not null default false;
