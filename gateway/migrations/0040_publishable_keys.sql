-- The key with which the live checkout pages of an account show Stripe's card fields. It is public: browsers get it. Null: no live cards.
alter table gateway.accounts
  add column publishable_key text collate "C" check (publishable_key ~ '^pk_live_[0-9A-Za-z_]{10,240}$');
