import { openProcessors } from '@eligo/processor';
import type { Constellation } from '@eligo/testkit';
import { newId } from '@eligo/values';

/**
 * An HSA card of a customer of the demo account in live mode, where the sandbox stands for the processor. The page makes such cards; this one is made at the processor and written as it is
 * stored. `formerAccount` is the processor account that it was saved at, if not today's.
 */
export async function newLiveCard(
  eligo: Constellation,
  customer: string,
  formerAccount: string | null = null,
): Promise<string> {
  const { url, key } = eligo.processor;
  const processors = openProcessors({
    ELIGO_SANDBOX_URL: url,
    ELIGO_SANDBOX_KEY: key,
    ELIGO_LIVE_PROCESSOR: 'sandbox',
  });
  const port = processors.of({ accountId: eligo.account, testMode: false });
  const made = await port.createPaymentMethod({ token: 'tok_hsa' }, { idempotencyKey: newId('request') });
  processors.close();
  if (made.kind !== 'found') throw new Error(made.kind);
  const id = newId('payment_method');
  await eligo.database.admin(
    `insert into checkout.payment_methods (account_id, test_mode, id, customer_id, processor_payment_method_id, off_session, brand, country,
       exp_month, exp_year, funding, last4, hsa_fsa, created_at, processor, processor_account)
     values ($1, false, $2, $3, $4, true, 'visa', 'US', 12, 2040, 'debit', '0072', true, now(),
       case when $5::text is not null then 'stripe'::checkout.processor end, $5)`,
    [eligo.account, id, customer, made.paymentMethodId, formerAccount],
  );
  return id;
}
