-- The proof that a call on the admin port came with: each serves once.
alter table operator_actions add column proof_id text collate "C";
alter table operator_actions add constraint proof_id_form check (proof_id ~ '^[A-Za-z0-9_-]{22}$') not valid;
grant insert (proof_id) on operator_actions to :"role";
