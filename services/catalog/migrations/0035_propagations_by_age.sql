-- eligo: no-transaction
create index concurrently if not exists propagating_products_by_age on propagating_products (created_at);
