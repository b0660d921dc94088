-- eligo: no-transaction
-- Lanes that were handed deliveries, by the end of their lease. A lane that a process had taken for nothing but waiting deliveries when it died is not among
-- them: it is found by its deliveries.
create index concurrently if not exists lanes_handed on webhooks.lanes (lease_until) where handed_from is not null;
