-- A caller carries the other members of its organization; what one call carries has a bound, and so has an organization. Its row is locked,
-- so that of two that join at once the second counts the first.
create function gateway.guard_members() returns trigger language plpgsql as $$
begin
  perform from gateway.organizations where organization_id = new.organization_id for no key update;
  if (select count(*) from gateway.accounts
       where organization_id = new.organization_id and account_id <> new.account_id) >= 100 then
    raise exception using errcode = 'check_violation', constraint = 'at_most_100_members', table = 'accounts',
      message = 'an organization has at most 100 members';
  end if;
  return new;
end $$;
create trigger guard_members before insert on gateway.accounts
  for each row when (new.organization_id is not null) execute function gateway.guard_members();
create trigger guard_moving_members before update of organization_id on gateway.accounts
  for each row when (new.organization_id is not null and new.organization_id is distinct from old.organization_id)
  execute function gateway.guard_members();

-- An account that is made as a member changes what the others may read, as one that joins later does.
create trigger member_made after insert on gateway.accounts
  for each row when (new.organization_id is not null) execute function gateway.notify_keys();
