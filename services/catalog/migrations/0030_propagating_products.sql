-- A price has copies of its product's state: whether it is for sale, and its class. A foreign key with a cascade kept them, and the request that
-- archived a product rewrote all of its prices. From now on triggers keep them, and the prices of a product that is named in
-- propagating_products follow later: a job copies the state to a page of them at a time. Until then the product's row decides.

-- First, with the foreign key that depends on it: it locks the products before the prices, as transactions do.
alter table products drop constraint products_as_prices_see_them cascade;
alter table prices add constraint prices_of_product foreign key (account_id, test_mode, product_id)
  references products (account_id, test_mode, product_id) not valid;

create table propagating_products (
  account_id text collate "C" not null,
  test_mode boolean not null,
  product_id text collate "C" not null,
  -- The prices from this one on have the state of the product. The job begins with the newest, which lists show first; '~' is behind every id.
  from_price_id text collate "C" not null default '~',
  -- The transaction that last changed the state of the product and left its prices to the job.
  changed_by xid8 not null default pg_current_xact_id(),
  tries integer not null default 0,
  next_try_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  primary key (account_id, test_mode, product_id),
  constraint propagating_products_product foreign key (account_id, test_mode, product_id)
    references products (account_id, test_mode, product_id) on delete cascade,
  constraint propagating_products_tries check (tries >= 0)
);
create index propagating_products_of_account on propagating_products (account_id, test_mode, next_try_at);
create index propagating_products_due on propagating_products (next_try_at);
alter table propagating_products enable row level security;
alter table propagating_products force row level security;
create policy account_scope on propagating_products using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);

-- Accounts and times alone; the job works in the account and mode.
create policy propagating_product_read on propagating_products for select to eligo_finder using (true);
grant select on propagating_products to eligo_finder;
create function propagation_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language sql stable security definer set search_path = :"schema", pg_temp as $$
    with recursive turns as (
      (select g.account_id, g.test_mode, g.next_try_at, 1 as turn from propagating_products g
        where (g.account_id, g.test_mode) > (after_account collate "C", after_mode)
        order by g.account_id, g.test_mode, g.next_try_at limit 1)
      union all
      select n.account_id, n.test_mode, n.next_try_at, t.turn + 1 from turns t cross join lateral (
        select g.account_id, g.test_mode, g.next_try_at from propagating_products g
         where (g.account_id, g.test_mode) > (t.account_id, t.test_mode)
         order by g.account_id, g.test_mode, g.next_try_at limit 1) n
       where t.turn < most
    )
    select t.account_id, t.test_mode, t.next_try_at <= clock_timestamp() from turns t
  $$;
create function next_propagation() returns timestamptz
  language sql stable security definer set search_path = :"schema", pg_temp as $$
    select g.next_try_at from propagating_products g order by g.next_try_at limit 1
  $$;
alter function propagation_turns(text, boolean, integer) owner to eligo_finder;
alter function next_propagation() owner to eligo_finder;
revoke all on function propagation_turns(text, boolean, integer), next_propagation() from public;
grant execute on function propagation_turns(text, boolean, integer), next_propagation() to :"role";

-- A product's prices change with it, in its own statement, unless the transaction that changes it has left them to the job. A process of the
-- release before never does.
create function product_state_changed() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
begin
  if exists (select from propagating_products g
    where g.account_id = new.account_id and g.test_mode = new.test_mode and g.product_id = new.product_id
      and g.changed_by = pg_current_xact_id() and g.from_price_id = '~')
  then
    return null;
  end if;
  update prices p set product_active = new.active, product_eligibility_key = new.eligibility_key
  where p.account_id = new.account_id and p.test_mode = new.test_mode and p.product_id = new.product_id
    and (p.product_active, p.product_eligibility_key) is distinct from (new.active, new.eligibility_key);
  delete from propagating_products g
  where g.account_id = new.account_id and g.test_mode = new.test_mode and g.product_id = new.product_id;
  return null;
end $$;
create trigger products_state_changed after update on products for each row
  when ((old.active, old.eligibility_key) is distinct from (new.active, new.eligibility_key))
  execute function product_state_changed();

-- A new price has the state of its product, whatever its statement says. The product keeps its state until the transaction ends: who changes it
-- waits, and then sees the price.
create function price_takes_state() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
declare product record;
begin
  select r.active, r.eligibility_key into product from products r
  where r.account_id = new.account_id and r.test_mode = new.test_mode and r.product_id = new.product_id for share;
  if found then
    new.product_active := product.active;
    new.product_eligibility_key := product.eligibility_key;
  end if;
  return new;
end $$;
create trigger prices_take_state before insert on prices for each row execute function price_takes_state();

-- The copies of a price change to the state of its product, and to nothing else.
create function price_follows_product() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
begin
  perform from products r
  where r.account_id = new.account_id and r.test_mode = new.test_mode and r.product_id = new.product_id
    and r.active = new.product_active and r.eligibility_key = new.product_eligibility_key for share;
  if not found then
    raise exception 'the price % does not have the state of its product', new.price_id
      using errcode = 'check_violation', constraint = 'prices_follow_product';
  end if;
  return new;
end $$;
create trigger prices_follow_product before update on prices for each row
  when ((old.product_active, old.product_eligibility_key) is distinct from (new.product_active, new.product_eligibility_key))
  execute function price_follows_product();

-- The job passes a price only when the price has the state of its product, and a product leaves the table only when all of its prices have it.
create function propagation_is_complete() returns trigger language plpgsql set search_path = :"schema", pg_temp as $$
declare first_passed text collate "C" := case when tg_op = 'DELETE' then '' else new.from_price_id end;
begin
  if exists (
    select from products r cross join lateral (
      select p.product_active, p.product_eligibility_key from prices p
      where p.account_id = r.account_id and p.test_mode = r.test_mode and p.product_id = r.product_id
        and p.price_id < old.from_price_id and p.price_id >= first_passed offset 0) passed
    where r.account_id = old.account_id and r.test_mode = old.test_mode and r.product_id = old.product_id
      and (passed.product_active, passed.product_eligibility_key) is distinct from (r.active, r.eligibility_key))
  then
    raise exception 'prices of % do not have its state yet', old.product_id
      using errcode = 'check_violation', constraint = 'propagation_is_complete';
  end if;
  return coalesce(new, old);
end $$;
create trigger propagating_products_moved before update of from_price_id on propagating_products for each row
  when (new.from_price_id < old.from_price_id) execute function propagation_is_complete();
create trigger propagating_products_ended before delete on propagating_products for each row execute function propagation_is_complete();
