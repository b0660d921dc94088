-- What operators did to this component: by its admin port, or by the command line in its schema. Append-only, also for the owner.
create table operator_actions (
  number bigint generated always as identity primary key,
  at timestamptz(3) not null default clock_timestamp(),
  -- Null for a user of the machine without a login of their own.
  operator_id text collate "C",
  operator_name text not null check (length(operator_name) between 1 and 200),
  login_id text collate "C",
  -- `<component>.<Method>`, or a command of the command line.
  action text collate "C" not null check (length(action) between 1 and 200),
  account_id text collate "C",
  test_mode boolean,
  subject_id text collate "C",
  request_id text collate "C" not null check (length(request_id) between 1 and 128),
  constraint logged_in_by_name check ((operator_id is null) = (login_id is null))
);

create function refuse_changed_history() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log of operators is append-only'
    using errcode = 'check_violation', constraint = 'operator_actions_append_only';
end $$;
create trigger append_only before update or delete on operator_actions for each row execute function refuse_changed_history();
create trigger append_only_whole before truncate on operator_actions for each statement execute function refuse_changed_history();

-- Time and number are the database's own.
revoke all on operator_actions from :"role";
grant select on operator_actions to :"role";
grant insert (operator_id, operator_name, login_id, action, account_id, test_mode, subject_id, request_id)
  on operator_actions to :"role";
