-- A process of the release before `updated_cards` forgets that an updated card was refused, and notes the update nowhere else. Nothing else ends such a refusal. Of
-- use while such processes run beside this release.
create function note_card_update() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  insert into updated_cards (account_id, test_mode, payment_method_id, updated_at)
    select distinct new.account_id, new.test_mode, c.was, clock_timestamp()
      from (values (old.refused_payment_method_id, new.refused_payment_method_id),
                   (old.refused_backup_payment_method_id, new.refused_backup_payment_method_id)) as c (was, is_now)
     where c.was is not null and c.is_now is null
    -- Unless a process of this release has just noted it, by its own clock.
    on conflict (account_id, test_mode, payment_method_id) do update set updated_at = excluded.updated_at
      where updated_cards.xmin <> pg_current_xact_id()::xid;
  return null;
end $$;
create trigger note_card_update after update of refused_payment_method_id, refused_backup_payment_method_id on invoices for each row
  when ((old.refused_payment_method_id is not null and new.refused_payment_method_id is null)
    or (old.refused_backup_payment_method_id is not null and new.refused_backup_payment_method_id is null))
  execute function note_card_update();
