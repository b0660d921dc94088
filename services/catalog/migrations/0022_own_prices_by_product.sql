-- eligo: no-transaction
-- What a cart's line stands for that names a product alone: its prices without those that carts made, of which there may be one for each cart.
create index concurrently if not exists prices_own_by_product on catalog.prices (account_id, test_mode, product_id, price_id)
  where listing = 'active' and not inline;
