-- eligo: contract
-- A price's listing has a copy of whether its product is for sale. A foreign key kept the copy by a cascade, which rewrote all prices of a product
-- in the request that archived it: with 50,000 it never ended in time. Now a product of more than 500 prices waits in this table for a job, and
-- what lists prices asks the product while an account has a row here. The class of the product is read from the product alone.
create table relistings (
  account_id text collate "C" not null,
  test_mode boolean not null,
  product_id text collate "C" not null,
  -- The hidden prices up to this one are as the product is.
  after_price_id text collate "C" not null default '',
  primary key (account_id, test_mode, product_id)
);
alter table relistings enable row level security;
alter table relistings force row level security;
create policy account_scope on relistings using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);

-- Ids alone; who relists does it in the account and mode.
create policy relisting_read on relistings for select to eligo_finder using (true);
grant select on relistings to eligo_finder;
create function find_relistings(most integer) returns table (account_id text, test_mode boolean, product_id text)
  language sql stable security definer set search_path = :"schema", pg_temp as $$
    select r.account_id, r.test_mode, r.product_id from relistings r order by r.account_id, r.test_mode, r.product_id limit most
  $$;
alter function find_relistings owner to eligo_finder;
revoke all on function find_relistings from public;
grant execute on function find_relistings to :"role";

-- Few prices follow their product at once, also for a process of the release before, which reads the copies.
create function product_state_changed() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
begin
  if exists (select from prices p where p.account_id = new.account_id and p.test_mode = new.test_mode and p.product_id = new.product_id
      offset 500 limit 1) then
    if new.active <> old.active then
      insert into relistings (account_id, test_mode, product_id) values (new.account_id, new.test_mode, new.product_id)
        on conflict (account_id, test_mode, product_id) do update set after_price_id = '';
    end if;
  else
    update prices p set product_active = new.active, product_eligibility_key = new.eligibility_key
    where p.account_id = new.account_id and p.test_mode = new.test_mode and p.product_id = new.product_id
      and (p.product_active, p.product_eligibility_key) is distinct from (new.active, new.eligibility_key);
  end if;
  return null;
end $$;
create trigger products_state_changed after update on products for each row
  when ((old.active, old.eligibility_key) is distinct from (new.active, new.eligibility_key))
  execute function product_state_changed();

alter table prices add constraint prices_of_product foreign key (account_id, test_mode, product_id)
  references products (account_id, test_mode, product_id) not valid;
alter table prices drop constraint prices_product;
