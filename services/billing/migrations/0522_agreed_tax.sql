-- The tax of an item as it was agreed at the sale, and what it was agreed on, while the item has another amount since a change. Null while no change has scaled it: then the
-- item's own are the agreed ones. A process of the release before writes none of them.
alter table subscription_items
  add column agreed_tax_cents bigint,
  add column agreed_subtotal_cents bigint,
  add constraint agreed_tax check (
    (agreed_tax_cents is null and agreed_subtotal_cents is null) or
    (agreed_tax_cents is not null and agreed_subtotal_cents is not null and agreed_tax_cents >= 0 and agreed_subtotal_cents > 0)) not valid;
