alter table operator_actions validate constraint proof_id_form;
