-- eligo: contract
alter table prices validate constraint prices_of_product;
-- The foreign key that needed it is gone.
alter table products drop constraint products_as_prices_see_them;
