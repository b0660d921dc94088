-- What the card of an attempt was taken for when the attempt was made: what is sent to the processor follows from it, and a resend sends the same bytes.
-- Null: an attempt from before. A type, because a check constraint on this table costs every statement that writes to it (ADR 15).
create type checkout.card_kind as enum ('health', 'other', 'unknown');
alter table checkout.charge_attempts add column card_kind checkout.card_kind;
