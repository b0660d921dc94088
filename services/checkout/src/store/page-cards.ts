import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { mostTypedCards } from '../domain/typed-cards.ts';

/** A card that a shopper gave on the page of a session or of an invoice. */
export interface PageCard {
  readonly processorPaymentMethodId: string;
  readonly sessionId: string | null;
  readonly invoiceId: string | null;
  readonly paymentMethodId: string;
}

/** A new one, and the customer whose invoice it is for. */
export interface NewPageCard extends PageCard {
  readonly customerId: string | null;
}

/** The card by the processor's identifier, whichever page it was given on. */
export async function findPageCard(
  db: Db,
  scope: Scope,
  processorPaymentMethodId: string,
): Promise<PageCard | undefined> {
  const row = await db.row(select, scope, [processorPaymentMethodId]);
  if (row === undefined) return undefined;
  const { session_id: sessionId, invoice_id: invoiceId, payment_method_id: paymentMethodId } = row;
  return { processorPaymentMethodId, sessionId, invoiceId, paymentMethodId };
}

/** Writes the card; false if another request has written it. Its payment method follows in the same transaction. */
export async function insertPageCard(tx: Tx, scope: Scope, card: NewPageCard): Promise<boolean> {
  const { processorPaymentMethodId, sessionId, invoiceId, customerId, paymentMethodId } = card;
  const values = [processorPaymentMethodId, sessionId, invoiceId, customerId, paymentMethodId];
  return (await tx.execute(insert, scope, values)) === 1;
}

/** Counts a card that was typed on the page of a session; false, with nothing counted, where the session takes no more. */
export async function countTypedCard(tx: Tx, scope: Scope, sessionId: string): Promise<boolean> {
  return (await tx.execute(count, scope, [sessionId])) === 1;
}

const select = scoped<{ session_id: string | null; invoice_id: string | null; payment_method_id: string }>(
  'page_cards.find',
  `select session_id, invoice_id, payment_method_id from checkout.page_cards
   where account_id = $1 and test_mode = $2 and processor_payment_method_id = $3`,
);

const insert = scoped<never>(
  'page_cards.insert',
  `insert into checkout.page_cards (account_id, test_mode, processor_payment_method_id, session_id, invoice_id, customer_id, payment_method_id)
   values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
);

const count = scoped<never>(
  'page_cards.count',
  `update checkout.sessions set typed_cards = typed_cards + 1
   where account_id = $1 and test_mode = $2 and id = $3 and typed_cards < ${mostTypedCards}`,
);
