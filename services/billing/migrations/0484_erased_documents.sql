-- The documents of a receipt never change, but for one case: the operator erases the shopper's name and address, and they are rendered again without. An erasure that is
-- repeated also takes away documents that were rendered of the name before it.
create or replace function billing.guard_receipt() returns trigger language plpgsql as $$
begin
  if new.email = 'erased@invalid' and new.html is null and new.content = jsonb_set(old.content, '{shopperName}', 'null') then
    return new;
  end if;
  if old.html is not null then
    raise exception 'the documents of receipt % exist', old.id using errcode = 'check_violation', constraint = 'documents_never_change';
  end if;
  return new;
end $$;
