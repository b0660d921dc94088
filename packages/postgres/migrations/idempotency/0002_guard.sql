-- A guard in place of the check constraints, which the server parses and compiles again for each statement; every request with a key sends three. It
-- refuses what they refused, under their names (ADR 15).
create function guard_idempotency_key() returns trigger language plpgsql as $$
declare
  broken text := case
    when not (octet_length(new.key) between 1 and 255) then 'idempotency_keys_key_check'
    when not (octet_length(new.request_hash) = 32) then 'idempotency_keys_request_hash_check'
    when not (new.state in ('in_progress', 'finished')) then 'idempotency_keys_state_check'
    when not (new.status between 200 and 599) then 'idempotency_keys_status_check'
    when not ((new.state = 'finished') = (new.status is not null) and (new.state = 'finished') = (new.body is not null))
      then 'finished_has_answer'
  end;
begin
  if broken is not null then
    raise exception 'an idempotency key violates %', broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
create trigger guard_idempotency_key before insert or update on idempotency_keys
  for each row execute function guard_idempotency_key();
alter table idempotency_keys
  drop constraint idempotency_keys_key_check, drop constraint idempotency_keys_request_hash_check,
  drop constraint idempotency_keys_state_check, drop constraint idempotency_keys_status_check,
  drop constraint finished_has_answer;
