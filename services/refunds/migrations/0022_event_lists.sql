-- The account that an event was delivered for or listed at. Null: an event that a release before this one stored.
alter table refunds.processor_events add column processor_account text collate "C";

-- The processors' lists of events, by account: how far each has been read. An account that new money no longer goes to stays, because its old
-- payments are still refunded and disputed there.
create table refunds.event_lists (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor refunds.processor not null,
  processor_account text collate "C" not null,
  -- The watermark: all events up to here were stored.
  read_to timestamptz(3) not null,
  -- A reading that is not finished, newest events first: how far the watermark moves with it, and the last event that was stored.
  reading_to timestamptz(3),
  reading_after text collate "C",
  -- Each reading raises it; a process that lost its lease writes nothing.
  epoch bigint not null default 0,
  lease_until timestamptz(3) not null default clock_timestamp(),
  next_read_at timestamptz(3) not null,
  primary key (account_id, test_mode, processor, processor_account)
);
alter table refunds.event_lists enable row level security;
alter table refunds.event_lists force row level security;
create policy own_rows on refunds.event_lists for all
  using (account_id = nullif(current_setting('eligo.account_id', true), '') and test_mode = nullif(current_setting('eligo.test_mode', true), '')::boolean);
create policy finder_reads on refunds.event_lists for select to eligo_finder using (true);
grant select on refunds.event_lists to eligo_finder;
revoke delete on refunds.event_lists from eligo_refunds;
create index event_lists_due on refunds.event_lists (next_read_at);
create index event_lists_read_to on refunds.event_lists (read_to);
create index event_lists_of_processor_account on refunds.event_lists (processor, processor_account);

create function refunds.guard_event_list() returns trigger language plpgsql as $$
declare
  broken text;
begin
  broken := case
    when new.test_mode and new.processor <> 'sandbox' then 'test_mode_is_at_the_sandbox'
    when new.reading_after is not null and new.reading_to is null then 'only_a_reading_has_a_place'
    when new.reading_to <= new.read_to then 'a_reading_moves_the_watermark'
    when tg_op = 'UPDATE' and new.read_to < old.read_to then 'the_watermark_does_not_move_back'
  end;
  if broken is not null then
    raise exception 'event list % violates %', new.processor_account, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
create trigger guard_event_list before insert or update on refunds.event_lists
  for each row execute function refunds.guard_event_list();

-- Of these, those that are not read yet.
create function refunds.unread_event_lists(accounts text[], modes boolean[], processors refunds.processor[], processor_accounts text[])
  returns table (account_id text, test_mode boolean, processor refunds.processor, processor_account text)
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select g.account_id, g.test_mode, g.processor, g.processor_account
    from unnest(accounts, modes, processors, processor_accounts) as g (account_id, test_mode, processor, processor_account)
   where not exists (select from refunds.event_lists l
     where (l.account_id, l.test_mode, l.processor, l.processor_account)
       = (g.account_id collate "C", g.test_mode, g.processor, g.processor_account collate "C") offset 0)
$$;

create function refunds.due_event_lists(most integer)
  returns table (account_id text, test_mode boolean, processor refunds.processor, processor_account text)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select l.account_id, l.test_mode, l.processor, l.processor_account from refunds.event_lists l
   where l.next_read_at <= now() order by l.next_read_at limit most
$$;

create function refunds.next_event_list() returns timestamptz
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select l.next_read_at from refunds.event_lists l order by l.next_read_at limit 1
$$;

create function refunds.event_lists_read_to() returns timestamptz
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select l.read_to from refunds.event_lists l order by l.read_to limit 1
$$;

-- The accounts and modes that have, or had, this account of the processor.
create function refunds.accounts_at_processor(at_processor refunds.processor, at_account text, most integer)
  returns table (account_id text, test_mode boolean)
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select l.account_id, l.test_mode from refunds.event_lists l
   where l.processor = at_processor and l.processor_account = at_account collate "C" order by l.account_id, l.test_mode limit most
$$;
alter function refunds.unread_event_lists(text[], boolean[], refunds.processor[], text[]) owner to eligo_finder;
alter function refunds.due_event_lists(integer) owner to eligo_finder;
alter function refunds.next_event_list() owner to eligo_finder;
alter function refunds.event_lists_read_to() owner to eligo_finder;
alter function refunds.accounts_at_processor(refunds.processor, text, integer) owner to eligo_finder;
revoke all on function refunds.unread_event_lists(text[], boolean[], refunds.processor[], text[]), refunds.due_event_lists(integer),
  refunds.next_event_list(), refunds.event_lists_read_to(), refunds.accounts_at_processor(refunds.processor, text, integer) from public;
grant execute on function refunds.unread_event_lists(text[], boolean[], refunds.processor[], text[]), refunds.due_event_lists(integer),
  refunds.next_event_list(), refunds.event_lists_read_to(), refunds.accounts_at_processor(refunds.processor, text, integer) to eligo_refunds;
