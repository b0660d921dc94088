alter table page_cards validate constraint page_card_of_one_page;
