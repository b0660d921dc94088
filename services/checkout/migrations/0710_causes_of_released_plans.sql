-- Why a plan of a payment is released before each of its cards was charged, where what became of a card does not tell it. The session says it once the plan has
-- ended; `domain/payment-plan.ts` has the same causes.
alter table checkout.payment_plans
  add column release_cause text,
  add constraint release_has_known_cause check (release_cause in ('other_payment_method_required', 'payment_method_not_found',
    'checkout_session_payment_tries_exceeded', 'customer_not_found')) not valid,
  add constraint release_cause_of_released check (release_cause is null or state in ('releasing', 'failed')) not valid;
