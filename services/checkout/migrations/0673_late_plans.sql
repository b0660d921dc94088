-- Whether the request that gave a plan its cards was answered, or died, before the outcome of the payment was known: then an event tells the outcome, whoever learns it.
alter table checkout.payment_plans add column is_late boolean not null default false;
