-- eligo: no-transaction
-- The job that propagates a product's state walks the prices of the product by their ids. No update of a price moves it in this index.
create index concurrently if not exists prices_of_product on catalog.prices (account_id, test_mode, product_id, price_id);
-- A line of a cart that names a product stands for one of its active prices. Whether the product is for sale is the product's to say, so the
-- index has no copy of that: the prices of a product that has just come back are in it. A process of the release before reads prices_own_by_product.
create index concurrently if not exists prices_active_of_product on catalog.prices (account_id, test_mode, product_id, inline, price_id)
  where active;
