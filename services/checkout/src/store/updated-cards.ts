import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { CardFacts, PaymentMethod } from '../domain/payment-method.ts';
import type { ReceivedEvent } from './processor-events.ts';

/** The payment method by the processor's id; undefined if it is none of Eligo's. */
export async function findPaymentMethodId(
  db: Db,
  scope: Scope,
  processorPaymentMethodId: string,
): Promise<string | undefined> {
  return (await db.row(find, scope, [processorPaymentMethodId]))?.id;
}

/** Whether an event of the processor is stored already. */
export async function isEventStored(db: Db, scope: Scope, event: ReceivedEvent): Promise<boolean> {
  return (await db.row(stored, scope, [event.processor, event.eventId])) !== undefined;
}

/** Writes what the processor says of a card now; false, with nothing written, if the method changed since it was read. */
export async function saveCardFacts(tx: Tx, scope: Scope, method: PaymentMethod, card: CardFacts): Promise<boolean> {
  const { brand, country, expMonth, expYear, funding, last4, hsaFsa, hsaFsaSource } = card;
  const facts = [brand, country, expMonth, expYear, funding, last4, hsaFsa, hsaFsaSource];
  return (await tx.execute(save, scope, [method.id, method.version, ...facts])) === 1;
}

const find = scoped<{ id: string }>(
  'payment_methods.at_processor',
  `select id from checkout.payment_methods
   where account_id = $1 and test_mode = $2 and processor_payment_method_id = $3`,
);
const stored = scoped<{ found: true }>(
  'processor_events.find',
  `select true as found from checkout.processor_events
   where account_id = $1 and test_mode = $2 and processor = $3 and id = $4`,
);
const save = scoped<never>(
  'payment_methods.save_card',
  `update checkout.payment_methods set brand = $5, country = $6, exp_month = $7, exp_year = $8, funding = $9, last4 = $10, hsa_fsa = $11,
     hsa_fsa_source = $12, version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3 and version = $4 and detached_at is null`,
);
