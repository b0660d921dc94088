alter table checkout.sessions validate constraint typed_cards_are_bounded;
