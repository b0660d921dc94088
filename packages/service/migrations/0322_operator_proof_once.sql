-- eligo: no-transaction
-- Also across replicas and restarts. Only calls on the admin port have a proof, and those of the release before have none that is stored.
create unique index concurrently if not exists operator_proof_once on operator_actions (proof_id) where proof_id is not null;
