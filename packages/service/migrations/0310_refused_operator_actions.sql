-- An action that an operator asked for and may not do is a row as well.
alter table operator_actions add column refused boolean not null default false;
grant insert (refused) on operator_actions to :"role";
