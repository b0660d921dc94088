alter table prices validate constraint prices_of_product;
