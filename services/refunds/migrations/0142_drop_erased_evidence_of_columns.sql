-- Most updates of a dispute set neither its evidence nor its payment intent, so they no longer call the trigger.
drop trigger drop_erased_evidence on refunds.disputes;
create trigger drop_erased_evidence before insert or update of evidence, payment_intent_id on refunds.disputes for each row
  when (new.evidence <> '{}' and new.payment_intent_id is not null) execute function refunds.drop_erased_evidence();
