-- eligo: no-transaction
create index concurrently if not exists fan_outs_by_age on webhooks.fan_outs (created_at);
